import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { forwardedEvents } from "../../server/src/upstream/forward-events.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const PIECES = 200_000;

it("a stream that has only comments for long takes no memory for them", async () => {
  const comment = new TextEncoder().encode(": waiting\n\n");
  let grownBytes = 0;
  const body = async function* () {
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let piece = 0; piece < PIECES; piece++) yield comment;
    collect();
    grownBytes = process.memoryUsage().heapUsed - before;
    yield new TextEncoder().encode("data: end\n\n");
  };
  const forwarder = { sendsFirstAhead: false, isDone: false, forward: (data: string) => data, end: () => {} };
  const texts: string[] = [];
  for await (const text of forwardedEvents(body(), forwarder)) texts.push(text);
  expect(texts).toEqual(["end"]);
  expect(grownBytes / PIECES).toBeLessThan(20);
});
