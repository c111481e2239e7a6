import { describe, expect, it } from "vitest";
import { APIConnectionError } from "../../sdk/src/index.ts";
import { answersInTurn, caught, deferred, newClient, unreachable } from "./fake-service.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

/** Waits for so many unhandled rejections, which would end the process, while `act` runs. */
async function unhandledDuring(count: number, act: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const all = deferred<void>();
  const note = (error: unknown) => {
    if (unhandled.push(error) === count) all.resolve();
  };
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", note);
  try {
    await act();
    await all.promise;
  } finally {
    process.off("unhandledRejection", note);
    for (const other of others) process.on("unhandledRejection", other);
  }
  return unhandled;
}

describe("a listener of the end of a stream that throws", () => {
  const mistake = new TypeError("by the listener");
  const fail = () => {
    throw mistake;
  };

  it("does not replace the answer, and is an unhandled rejection", async () => {
    const answer = () => new Response('data: {"id":"1","choices":[]}\n\ndata: [DONE]\n\n');
    const stream = newClient({ fetch: answersInTurn(answer) }).chat.completions.stream(ask);
    stream.on("end", fail);
    const unhandled = await unhandledDuring(1, async () => {
      expect(await stream.finalCompletion()).toMatchObject({ id: "1" });
    });
    expect(unhandled).toEqual([mistake]);
  });

  it("does not replace the error, and keeps no other listener from being called", async () => {
    const stream = newClient({ fetch: answersInTurn(unreachable) }).chat.completions.stream(ask);
    const told: unknown[] = [];
    stream.on("error", fail).on("end", fail);
    stream.on("error", (error) => told.push(error)).on("end", () => told.push("end"));
    const unhandled = await unhandledDuring(2, async () => {
      expect(await caught(stream.done())).toBeInstanceOf(APIConnectionError);
    });
    expect(unhandled).toEqual([mistake, mistake]);
    expect(told).toEqual([expect.any(APIConnectionError), "end"]);
  });
});
