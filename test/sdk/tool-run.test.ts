import { afterAll, beforeAll, describe, expect, expectTypeOf, it, vi } from "vitest";
import { z } from "zod";
import {
  APIUserAbortError,
  type ChatCompletionToolCall,
  Ostiary,
  OstiaryError,
  type ToolContext,
  tool,
} from "../../sdk/src/index.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { answersInTurn, caught, deferred, newClient } from "./fake-service.ts";

const messages = [{ role: "user" as const, content: "hi" }];
const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };

const answer = (message: object) => () =>
  Response.json({
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
    usage,
  });
const callOf = (id: string, name: string, args: string): ChatCompletionToolCall => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const calling = (...calls: readonly ChatCompletionToolCall[]) => answer({ content: null, tool_calls: calls });
const final = answer({ content: "done" });

const add = tool({
  name: "add",
  description: "Adds.",
  schema: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
});
const addCall = (id: string, a: number, b: number) => callOf(id, "add", JSON.stringify({ a, b }));

/** The bodies of the requests that a `fetch` got. */
const bodiesOf = ({ mock }: ReturnType<typeof answersInTurn>) =>
  mock.calls.map(([, init]) => JSON.parse(String(init?.body)));
const resultsIn = (body: { messages: { role: string; content: string }[] }) =>
  body.messages.filter(({ role }) => role === "tool").map(({ content }) => content);

describe("a run with tools", () => {
  it("calls functions until the model answers without a call", async () => {
    const fetch = answersInTurn(calling(addCall("1", 1, 2)), calling(addCall("2", 3, 4)), final);
    const run = newClient({ fetch }).chat.completions.runTools({ model: "m", messages, tools: [add] });
    const events: string[] = [];
    run
      .on("toolCall", ({ id }) => events.push(`call ${id}`))
      .on("toolResult", ({ content }) => events.push(content))
      .on("message", ({ role }) => events.push(role));
    expect(await run.finalContent()).toBe("done");
    expect(events).toEqual([
      "assistant",
      "call 1",
      '{"sum":3}',
      "tool",
      "assistant",
      "call 2",
      '{"sum":7}',
      "tool",
      "assistant",
    ]);
    const [first, , last] = bodiesOf(fetch);
    expect(first.tools).toMatchObject([
      { type: "function", function: { name: "add", description: "Adds." } },
    ]);
    expect(last.messages).toEqual(run.messages.slice(0, -1));
    expect(run.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect(run.totalUsage).toEqual({ prompt_tokens: 6, completion_tokens: 3, total_tokens: 9 });
  });

  it("runs functions at the same time, and keeps the order of their calls", async () => {
    let running = 0;
    let together = 0;
    const both = deferred<void>();
    const second = deferred<void>();
    const slow = tool({
      name: "slow",
      schema: z.object({ id: z.string() }),
      run: async ({ id }) => {
        together = Math.max(together, ++running);
        if (running === 2) both.resolve();
        await both.promise;
        if (id === "one") await second.promise;
        else second.resolve();
        return id;
      },
    });
    const fetch = answersInTurn(
      calling(callOf("1", "slow", '{"id":"one"}'), callOf("2", "slow", '{"id":"two"}')),
      final,
    );
    await newClient({ fetch })
      .chat.completions.runTools({ model: "m", messages, tools: [slow] })
      .done();
    expect(together).toBe(2);
    expect(resultsIn(bodiesOf(fetch)[1])).toEqual(["one", "two"]);
  });

  it("tells the model what went wrong, so that it can try again", async () => {
    const fail = tool({
      name: "fail",
      schema: z.object({}),
      run: () => {
        throw new Error("the disk is full");
      },
    });
    const fetch = answersInTurn(
      calling(
        callOf("1", "fail", ""),
        callOf("2", "unknown", "{}"),
        callOf("3", "add", "{"),
        callOf("4", "add", '{"a":"1","b":2}'),
      ),
      final,
    );
    const errors: unknown[] = [];
    const run = newClient({ fetch }).chat.completions.runTools({ model: "m", messages, tools: [add, fail] });
    run.on("toolResult", ({ error }) => errors.push(error));
    await run.done();
    const results = resultsIn(bodiesOf(fetch)[1]);
    expect(results[0]).toBe("Error: the disk is full");
    expect(results[1]).toBe("Error: There is no function unknown. There are: add, fail.");
    expect(results[2]).toBe("Error: The arguments are not valid JSON.");
    expect(results[3]).toMatch(/^Error: The arguments are not valid: a: /);
    expect(errors).toHaveLength(4);
  });

  it("passes over invalid calls, and takes arguments that are an object", async () => {
    const calls = [
      null,
      "add",
      { id: "1", function: { name: "add", arguments: { a: 1, b: 2 } } },
      { id: "2", type: "function", function: null },
      { id: "3", type: "custom" },
    ];
    const fetch = answersInTurn(answer({ content: null, tool_calls: calls, usage: {} }), final);
    const run = newClient({ fetch }).chat.completions.runTools({ model: "m", messages, tools: [add] });
    expect(await run.finalContent()).toBe("done");
    const unknown = "Error: There is no function undefined. There are: add.";
    expect(resultsIn(bodiesOf(fetch)[1])).toEqual(['{"sum":3}', unknown, unknown]);
    const none = newClient({ fetch: answersInTurn(answer({ content: "a", tool_calls: "none" })) });
    const ended = none.chat.completions.runTools({ model: "m", messages, tools: [add] });
    expect(await ended.finalContent()).toBe("a");
  });

  it("ends with an error after the maximum of rounds", async () => {
    const fetch = answersInTurn(calling(addCall("1", 1, 2)));
    const { completions } = newClient({ fetch }).chat;
    const error = await caught(
      completions.runTools({ model: "m", messages, tools: [add] }, { maxRounds: 3 }).done(),
    );
    expect(error).toBeInstanceOf(OstiaryError);
    expect(error).toMatchObject({ message: expect.stringContaining("maxRounds") });
    expect(fetch).toHaveBeenCalledTimes(3);
  });

  it.each([
    ["required", undefined],
    [{ type: "function", function: { name: "add" } }, undefined],
    ["auto", "auto"],
    [
      { type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } },
      { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [] } },
    ],
  ] as const)("demands a call in its first round only: %j", async (choice, later) => {
    const fetch = answersInTurn(calling(addCall("1", 1, 2)), final);
    const { completions } = newClient({ fetch }).chat;
    await completions.runTools({ model: "m", messages, tools: [add], tool_choice: choice }).done();
    expect(bodiesOf(fetch).map((body) => body.tool_choice)).toEqual([choice, later]);
  });

  it("has an idempotency key for each round", async () => {
    const fetch = answersInTurn(calling(addCall("1", 1, 2)), final);
    const { completions } = newClient({ fetch }).chat;
    await completions.runTools({ model: "m", messages, tools: [add] }, { idempotencyKey: "k" }).done();
    const keys = fetch.mock.calls.map(([, init]) => new Headers(init?.headers).get("idempotency-key"));
    expect(keys).toEqual(["k-1", "k-2"]);
  });

  it.each(["signal", "abort", "dispose"] as const)("ends by %s while a function runs", async (way) => {
    const controller = new AbortController();
    const started = deferred<ToolContext>();
    const wait = tool({
      name: "wait",
      schema: z.object({}),
      run: (_, context) => {
        started.resolve(context);
        return new Promise((_, reject) => {
          context.signal.addEventListener("abort", () => reject(context.signal.reason));
        });
      },
    });
    const fetch = answersInTurn(calling(callOf("1", "wait", "{}")), final);
    const run = newClient({ fetch }).chat.completions.runTools(
      { model: "m", messages, tools: [wait] },
      { signal: controller.signal },
    );
    const error = caught(run.finalMessage());
    const { call } = await started.promise;
    expect(call.id).toBe("1");
    if (way === "signal") controller.abort();
    else if (way === "abort") run.abort();
    else await run[Symbol.asyncDispose]();
    expect(await error).toBeInstanceOf(APIUserAbortError);
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("ends at once when it is aborted, even if a function ignores its signal", async () => {
    const started = deferred<void>();
    const stuck = tool({
      name: "stuck",
      schema: z.object({}),
      run: () => {
        started.resolve();
        return new Promise(() => {});
      },
    });
    const fetch = answersInTurn(calling(callOf("1", "stuck", "{}")));
    const run = newClient({ fetch }).chat.completions.runTools({ model: "m", messages, tools: [stuck] });
    const error = caught(run.done());
    await started.promise;
    run.abort();
    expect(await error).toBeInstanceOf(APIUserAbortError);
  });

  it("types arguments by their schema", () => {
    tool({
      name: "typed",
      schema: z.object({ city: z.string(), days: z.number().default(1) }),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>(),
    });
    // @ts-expect-error a run needs tools with functions
    expect(() => newClient().chat.completions.runTools({ model: "m", messages })).toThrow();
  });
});

describe("a run with tools and a running service", () => {
  let service: Service;
  let client: Ostiary;
  beforeAll(async () => {
    service = await startService();
    const { key } = await signUpWithKey(service.baseUrl);
    client = new Ostiary({ apiKey: key, baseURL: service.baseUrl });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
  });

  it.each([false, true])("has the same answer whole and streamed: stream %s", async (stream) => {
    const weather = tool({
      name: "weather",
      schema: z.object({ city: z.string() }),
      run: ({ city }) => `sunny in ${city.length > 0 ? "the city" : "no city"}`,
    });
    const onContent = vi.fn();
    const run = client.chat.completions
      .runTools({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "weather" }],
        tools: [weather],
        stream,
      })
      .on("content", onContent);
    expect(await run.finalContent()).toMatch(/^The tool answered: sunny in /);
    expect(run.totalUsage.total_tokens).toBeGreaterThan(0);
    expect(onContent.mock.calls.length > 0).toBe(stream);
  });
});
