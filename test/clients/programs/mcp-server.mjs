// An MCP server over standard input and output with one tool, as the protocol's specification (2025-06-18) has it.
import { createInterface } from "node:readline";

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "tiny", version: "1.0.0" },
  }),
  "tools/list": () => ({
    tools: [
      {
        name: "ping",
        description: "Answers with pong",
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
      },
    ],
  }),
  "tools/call": () => ({ content: [{ type: "text", text: "pong from afar" }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params);
  const answer = result === undefined ? { error: { code: -32601, message: "no such method" } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
