import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { MessagesWriter } from "../../server/src/wire/messages/messages-writer.ts";
import { ToolNames } from "../../server/src/wire/messages/tool-names.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const PIECES = 2_000;
const PIECE_BYTES = 16_384;

it.each(["hidden", "omitted"] as const)(
  "A stream's thoughts that are %s take no memory, unless the provider wants them back",
  (thoughts) => {
    const writer = new MessagesWriter(
      { id: "0", created: 1_000, now: () => 1_002, model: "acme/chat" },
      {
        estimate: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
        thoughts,
        signatures: { seal: () => "sealed", open: () => null },
        names: new ToolNames(),
      },
    );
    writer.begin();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let piece = 0; piece < PIECES; piece += 1) {
      writer.write({ kind: "reasoning", text: Buffer.alloc(PIECE_BYTES, "x").toString("latin1") });
    }
    collect();
    const grownBytes = process.memoryUsage().heapUsed - before;
    writer.write({ kind: "reasoning-end", signature: null });
    expect(grownBytes / PIECES).toBeLessThan(PIECE_BYTES / 4);
  },
);
