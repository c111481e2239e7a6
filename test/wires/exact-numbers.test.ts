import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// JavaScript has no such numbers: ids of messages and users of many services are 64-bit integers.
const ID = "1234567890123456789";
const INPUT = `{"id":${ID},"list":[-${ID},0.12345678901234567891,1e400,-2.5E-400,1234567890.1234567891],"small":12,"text":"${ID}"}`;
const CALL = { id: "toolu_1", name: "w" };

let service: Service;
let upstream: ModelServer;
let key: string;
/** The upstream's answer, as it stands. */
let answer = "";
const stops: (() => PromiseLike<void>)[] = [];

beforeAll(async () => {
  upstream = await startModelServer(({ response }) => {
    const type = answer.startsWith("{") ? "application/json" : "text/event-stream";
    response.setHeader("content-type", type).end(answer);
  });
  const { baseUrl } = upstream;
  const catalog = await writeCatalog({
    upstreams: {
      chat: { dialect: "openai", baseUrl },
      messages: { dialect: "anthropic", baseUrl },
      google: { dialect: "google", baseUrl },
      responses: { dialect: "openai-responses", baseUrl },
    },
    models: ["chat", "messages", "google", "responses"].map((id) => ({
      id,
      routes: [{ upstream: id, model: id === "messages" ? "claude-inner" : "inner" }],
    })),
  });
  service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
  ({ key } = await signUpWithKey(service.baseUrl));
  stops.push(
    () => service[Symbol.asyncDispose](),
    () => catalog[Symbol.asyncDispose](),
    () => upstream[Symbol.asyncDispose](),
  );
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

async function post(path: string, body: string): Promise<string> {
  const response = await fetch(service.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.anything()]);
  return text;
}

const chatBody = (model: string, more = "") =>
  `{"model":"${model}","messages":[{"role":"user","content":"hi"}${more}],"tools":[{"type":"function","function":{"name":"w"}}]}`;
const messagesBody = (model: string, more = "", stream = false) =>
  `{"model":"${model}","max_tokens":9,"stream":${stream},"messages":[{"role":"user","content":"hi"}${more}],"tools":[{"name":"w","input_schema":{"type":"object"}}]}`;
const MESSAGE = (content: string) =>
  `{"id":"m","type":"message","role":"assistant","model":"inner","content":[${content}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}`;
const toolUse = (input: string) => `{"type":"tool_use","id":"toolu_1","name":"w","input":${input}}`;
const CANDIDATE = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"w","args":${INPUT}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2}}`;
const completion = (input: string) =>
  `{"id":"c","object":"chat.completion","created":1,"model":"inner","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"w","arguments":${input}}}]}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`;

describe("a number that JavaScript can't hold, in the input of a call", () => {
  it("is exact in the answer of a model of Anthropic", async () => {
    answer = MESSAGE(toolUse(INPUT));
    const chat = JSON.parse(await post("/v1/chat/completions", chatBody("messages")));
    expect(chat.choices[0].message.tool_calls[0].function.arguments).toBe(INPUT);
    const body = `{"model":"messages","input":"hi","tools":[{"type":"function","name":"w","parameters":{}}]}`;
    expect(JSON.parse(await post("/v1/responses", body)).output[0].arguments).toBe(INPUT);
  });

  it("is exact in a stream of a model of Anthropic that has the input at once", async () => {
    const start = `{"type":"content_block_start","index":0,"content_block":${toolUse(INPUT)}}`;
    const events = [
      `{"type":"message_start","message":${MESSAGE("")}}`,
      start,
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}',
      '{"type":"message_stop"}',
    ];
    answer = events.map((data) => `event: ${JSON.parse(data).type}\ndata: ${data}\n\n`).join("");
    const text = await post("/v1/chat/completions", chatBody("messages").replace("{", '{"stream":true,'));
    expect(text).toContain(JSON.stringify(INPUT));
  });

  it("is exact in the answer of a model of Google", async () => {
    answer = CANDIDATE;
    const chat = JSON.parse(await post("/v1/chat/completions", chatBody("google")));
    expect(chat.choices[0].message.tool_calls[0].function.arguments).toBe(INPUT);
    expect(await post("/v1/messages", messagesBody("google"))).toContain(`"input":${INPUT}`);
    answer = `data: ${CANDIDATE}\n\n`;
    expect(await post("/v1/messages", messagesBody("google", "", true))).toContain(JSON.stringify(INPUT));
  });

  it("is exact for a client of the Messages API, whether the server has written a text or an object", async () => {
    for (const input of [JSON.stringify(INPUT), INPUT]) {
      answer = completion(input);
      expect(await post("/v1/messages", messagesBody("chat"))).toContain(`"input":${INPUT}`);
    }
  });

  it("is exact in the answer of a server of the Responses API that has written an object", async () => {
    const item = `{"type":"function_call","id":"fc_1","call_id":"toolu_1","name":"w","arguments":${INPUT}}`;
    const response = `{"id":"r","status":"completed","output":[${item}],"usage":{"input_tokens":5,"output_tokens":2}}`;
    answer = response;
    const chat = JSON.parse(await post("/v1/chat/completions", chatBody("responses")));
    expect(chat.choices[0].message.tool_calls[0].function.arguments).toBe(INPUT);
    answer = [
      `{"type":"response.output_item.done","output_index":0,"item":${item}}`,
      `{"type":"response.completed","response":${response}}`,
    ]
      .map((data) => `data: ${data}\n\n`)
      .join("");
    expect(await post("/v1/messages", messagesBody("responses", "", true))).toContain(JSON.stringify(INPUT));
  });

  it("is exact when a client sends the call back", async () => {
    answer = MESSAGE('{"type":"text","text":"ok"}');
    const call = { id: CALL.id, type: "function", function: { name: "w", arguments: INPUT } };
    const called = `,{"role":"assistant","tool_calls":[${JSON.stringify(call)}]},{"role":"tool","tool_call_id":"toolu_1","content":"${ID}"}`;
    await post("/v1/chat/completions", chatBody("messages", called));
    expect(upstream.received.at(-1)?.text).toContain(`"input":${INPUT}`);
    answer = CANDIDATE;
    await post("/v1/chat/completions", chatBody("google", called));
    expect(upstream.received.at(-1)?.text).toContain(`"args":${INPUT}`);

    const used = `,{"role":"assistant","content":[${toolUse(INPUT)}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"${ID}"}]}`;
    await post("/v1/messages", messagesBody("google", used));
    expect(upstream.received.at(-1)?.text).toContain(`"args":${INPUT}`);
    answer = completion('"{}"');
    await post("/v1/messages", messagesBody("chat", used));
    expect(upstream.received.at(-1)?.text).toContain(`"arguments":${JSON.stringify(INPUT)}`);
  });

  it("is exact when a thought of another provider's model is left out before it", async () => {
    answer = MESSAGE('{"type":"text","text":"ok"}');
    const thought = '{"type":"thinking","thinking":"hm","signature":""}';
    await post(
      "/v1/messages",
      messagesBody("messages", `,{"role":"assistant","content":[${thought},${toolUse(INPUT)}]}`),
    );
    const sent = upstream.received.at(-1)?.text;
    expect(sent).not.toContain("thinking");
    expect(sent).toContain(`"input":${INPUT}`);
  });

  it("makes no text of what is a number in any other place", async () => {
    const body = messagesBody("chat").replace('"hi"', `[{"type":"text","text":${ID}}]`);
    const response = await fetch(`${service.baseUrl}/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body,
    });
    expect(response.status).toBe(400);
  });

  it("is a malformed answer if it is no number of JSON", async () => {
    for (const input of [`{"id":${ID}-1}`, `{"id":0${ID}}`, `{"id":${ID}.}`, `{"id":"${ID}"}}`]) {
      answer = completion(JSON.stringify(input));
      const response = await fetch(`${service.baseUrl}/v1/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: messagesBody("chat"),
      });
      expect([input, response.status]).toEqual([input, 502]);
    }
  });
});

describe("a number that JavaScript can't hold, in a schema", () => {
  const SCHEMA = `{"type":"object","properties":{"id":{"type":"integer","maximum":${ID},"enum":[${ID},1]}}}`;
  const CHAT = `{"type":"function","function":{"name":"w","parameters":${SCHEMA}}}`;
  const RESPONSES = `{"type":"function","name":"w","parameters":${SCHEMA}}`;
  const MESSAGES = `{"name":"w","input_schema":${SCHEMA}}`;
  const FORMAT = `"name":"f","strict":false,"schema":${SCHEMA}`;
  const OWN_ANSWERS = {
    chat: completion('"{}"'),
    messages: MESSAGE('{"type":"text","text":"ok"}'),
    google: CANDIDATE,
  };

  async function sentBy(model: keyof typeof OWN_ANSWERS, path: string, rest: string): Promise<string> {
    answer = OWN_ANSWERS[model];
    await post(path, `{"model":"${model}",${rest}}`);
    return upstream.received.at(-1)?.text ?? "";
  }

  it.each(["messages", "google"] as const)("is exact in a chat completion for %s", async (model) => {
    const hi = '"messages":[{"role":"user","content":"hi"}]';
    expect(await sentBy(model, "/v1/chat/completions", `${hi},"tools":[${CHAT}]`)).toContain(SCHEMA);
    const format = `"response_format":{"type":"json_schema","json_schema":{${FORMAT}}}`;
    expect(await sentBy(model, "/v1/chat/completions", `${hi},${format}`)).toContain(`"enum":[${ID},1]`);
  });

  it.each(["chat", "messages", "google"] as const)(
    "is exact in a response of %s, and in what it repeats",
    async (model) => {
      answer = OWN_ANSWERS[model];
      const rest = `"input":"hi","tools":[${RESPONSES},{"type":"namespace","name":"n","tools":[${RESPONSES}]}]`;
      const repeated = await post("/v1/responses", `{"model":"${model}",${rest}}`);
      expect(repeated).toContain(RESPONSES);
      expect(upstream.received.at(-1)?.text.split(SCHEMA)).toHaveLength(3);
      const format = `"input":"hi","text":{"format":{"type":"json_schema",${FORMAT}}}`;
      expect(await sentBy(model, "/v1/responses", format)).toContain(`"enum":[${ID},1]`);
      const added = `"input":[{"role":"user","content":"hi"},{"type":"additional_tools","tools":[${RESPONSES}]}]`;
      expect(await sentBy(model, "/v1/responses", added)).toContain(SCHEMA);
    },
  );

  it.each(["chat", "google"] as const)("is exact in a message for %s", async (model) => {
    const hi = '"max_tokens":9,"messages":[{"role":"user","content":"hi"}]';
    expect(await sentBy(model, "/v1/messages", `${hi},"tools":[${MESSAGES}]`)).toContain(SCHEMA);
    const format = `"output_config":{"format":{"type":"json_schema","schema":${SCHEMA}}}`;
    expect(await sentBy(model, "/v1/messages", `${hi},${format}`)).toContain(`"enum":[${ID},1]`);
  });

  it("is exact where the description tells what Anthropic's schemas do not have", async () => {
    answer = MESSAGE('{"type":"text","text":"{}"}');
    const format = `"response_format":{"type":"json_schema","json_schema":{${FORMAT.replace('"object",', '"object","additionalProperties":false,')}}}`;
    await post(
      "/v1/chat/completions",
      `{"model":"messages","messages":[{"role":"user","content":"hi"}],${format}}`,
    );
    expect(upstream.received.at(-1)?.text).toContain(`maximum: ${ID}.`);
  });
});
