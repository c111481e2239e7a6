import { vi } from "vitest";
import Ostiary, { type ClientOptions } from "../../sdk/src/index.ts";

/** A client that does not retry, unless the options say so. */
export const newClient = (options: ClientOptions = {}) =>
  new Ostiary({ apiKey: "sk-test", maxRetries: 0, ...options });

export const emptyList = () => Response.json({ object: "list", data: [] });

/** An error answer in the service's format. */
export const failing = (status: number, headers: Record<string, string> = {}) => {
  return () =>
    Response.json({ error: { message: "m", type: "t", param: null, code: null } }, { status, headers });
};

export const unreachable = () => {
  throw new TypeError("fetch failed");
};

/** A `fetch` that gives these answers in turn, repeats the last one, and counts its calls. */
export function answersInTurn(...answers: (() => Response)[]) {
  return vi.fn<typeof fetch>(async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer?.() ?? emptyList();
  });
}

/** The error that a promise rejects with. */
export const caught = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A promise that a test settles. */
export function deferred<Value>() {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
