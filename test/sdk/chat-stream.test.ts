import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { AuthenticationError, type ChatCompletionChunk } from "../../sdk/src/index.ts";
import { ROOT } from "../fixtures/service.ts";
import { answersInTurn, caught, collect, failing, newClient } from "./fake-service.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

/** A client whose streams have these chunks. */
function streaming(...chunks: readonly object[]) {
  const text = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"];
  return newClient({
    fetch: answersInTurn(() => new Response(text.map((data) => `data: ${data}\n\n`).join(""))),
  });
}

const choice = (delta: object, more: object = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});

/** Runs a program with `client`, whose key is refused, and returns its exit code and what it printed as an error. */
function runWithBadKey(code: string) {
  const program = `
    import { Ostiary } from ${JSON.stringify(join(ROOT, "sdk/dist/index.js"))};
    const refusal = { error: { message: "no such key", type: "t", param: null, code: "invalid_api_key" } };
    const fetch = async () => Response.json(refusal, { status: 401 });
    const client = new Ostiary({ apiKey: "sk-bad", fetch });
    const ask = { model: "m", messages: [] };
    ${code}`;
  const args = ["--input-type=module", "--eval", program];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stderr };
}

describe("a chunk without choices", () => {
  it("is passed over by the whole answer", async () => {
    const tick = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
    const end = choice({ content: "Hello" }, { finish_reason: "stop" });
    const stream = streaming(tick, end, { ...tick, choices: null, usage: { total_tokens: 3 } });
    expect(await stream.chat.completions.stream(ask).finalCompletion()).toMatchObject({
      choices: [{ message: { content: "Hello" } }],
      usage: { total_tokens: 3 },
    });
  });
});

describe("a part of a chunk that is not what its type says", () => {
  const known = choice({ content: "a", tool_calls: [{ index: 0, id: "1", function: { name: "f" } }] });
  const withChoices = (choices: unknown) => ({ ...known, choices });
  const broken = {
    "choices that are null": withChoices(null),
    "choices that are no list": withChoices({}),
    "choices that are a text": withChoices("text"),
    "a choice that is null": withChoices([null]),
    "a delta that is null": withChoices([{ index: 0, delta: null }]),
    "a delta that is a text": withChoices([{ index: 0, delta: "text" }]),
    "no delta": withChoices([{ index: 0 }]),
    "a call that is null": withChoices([{ index: 0, delta: { tool_calls: [null] } }]),
    "calls that are null": withChoices([{ index: 0, delta: { tool_calls: null } }]),
    "calls that are no list": withChoices([{ index: 0, delta: { tool_calls: {} } }]),
    "log probabilities that are a text": withChoices([{ index: 0, delta: {}, logprobs: "none" }]),
  };

  it.each(Object.entries(broken))("is passed over: %s", async (_, chunk) => {
    const { completions } = streaming(known, chunk).chat;
    const { content, tool_calls: calls } = await completions.stream(ask).finalMessage();
    expect([content, calls?.length]).toEqual(["a", 1]);
    const chunks = await collect(streaming(chunk).chat.completions.create({ ...ask, stream: true }));
    for (const { choices } of chunks) {
      for (const { index, delta } of choices) {
        expect([index, delta.content, delta.tool_calls?.length ?? 0]).toEqual([0, undefined, 0]);
      }
    }
  });

  it("is the number of a choice that is not sent: it is the first", async () => {
    const listener = vi.fn();
    const stream = streaming(choice({ content: "a" }, { index: undefined })).chat.completions.stream(ask);
    await stream.on("content", listener).done();
    expect(listener).toHaveBeenCalledWith("a", "a");
  });

  it("does not make a list a chunk", async () => {
    const text = "data: []\n\ndata: [DONE]\n\n";
    const client = newClient({ fetch: answersInTurn(() => new Response(text)) });
    const error = await caught(collect(client.chat.completions.create({ ...ask, stream: true })));
    expect(error).toMatchObject({ name: "APIError", message: expect.stringMatching(/not from the service/) });
  });
});

describe("an error of a stream with events", () => {
  it("that nobody awaits or listens for ends the process", () => {
    const { status, stderr } = runWithBadKey('client.chat.completions.stream(ask).on("content", () => {});');
    expect(status).toBe(1);
    expect(stderr).toContain("AuthenticationError");
    expect(stderr).toContain("no such key");
  });

  it.each([
    ['stream.on("error", () => {});'],
    ["await stream.finalMessage().catch(() => {});"],
    ["await stream.done().catch(() => {});"],
    ["try { for await (const _ of stream); } catch {}"],
  ])("is handled by %s", (handling) => {
    const { status, stderr } = runWithBadKey(
      `const stream = client.chat.completions.stream(ask); ${handling}`,
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  it("is not unhandled when the caller ended the stream", () => {
    const { status, stderr } = runWithBadKey(`
      const waiting = client.withOptions({
        fetch: (_, { signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      });
      const controller = new AbortController();
      waiting.chat.completions.stream(ask, { signal: controller.signal }).on("content", () => {});
      setImmediate(() => controller.abort());`);
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  it("includes what a listener throws", () => {
    const { status, stderr } = runWithBadKey(`
      const whole = async () => new Response('data: {"choices":[]}\\n\\ndata: [DONE]\\n\\n');
      client.withOptions({ fetch: whole }).chat.completions.stream(ask).on("chunk", () => {
        throw new Error("by the listener");
      });`);
    expect(stderr).toContain("by the listener");
    expect(status).toBe(1);
  });

  it("reaches those who await the answer and those who listen", async () => {
    const client = newClient({ fetch: answersInTurn(failing(401)) });
    const listener = vi.fn();
    const stream = client.chat.completions.stream(ask).on("error", listener);
    await expect(stream.finalContent()).rejects.toBeInstanceOf(AuthenticationError);
    expect(listener).toHaveBeenCalledOnce();
  });
});

describe("an error of a request that nobody awaits", () => {
  it("ends the process, as that of any promise", () => {
    for (const call of ["chat.completions.create(ask)", "models.list()"]) {
      const { status, stderr } = runWithBadKey(`client.${call};`);
      expect(stderr).toContain("AuthenticationError");
      expect(status).toBe(1);
    }
  });
});

describe("listeners of a stream with events", () => {
  it("can be removed, and can be for one event only", async () => {
    const stream = streaming(choice({ content: "a" }), choice({ content: "b" })).chat.completions.stream(ask);
    const [always, once, removed] = [vi.fn(), vi.fn(), vi.fn()];
    stream.on("content", always).once("content", once).on("content", removed).off("content", removed);
    await stream.done();
    expect(always.mock.calls).toEqual([
      ["a", "a"],
      ["b", "ab"],
    ]);
    expect(once).toHaveBeenCalledTimes(1);
    expect(removed).not.toHaveBeenCalled();
  });
});

describe("the completion that the chunks of a stream add up to", () => {
  const whole = (...chunks: readonly object[]) =>
    streaming(...chunks)
      .chat.completions.stream(ask)
      .finalCompletion();

  it("keeps reasoning, by whatever name, and refusals", async () => {
    const { choices } = await whole(
      choice({ role: "assistant", reasoning: "Hm", reasoning_content: "So" }),
      choice({ reasoning: "…", reasoning_content: "?", content: null }),
      choice({ content: "Yes", refusal: "N" }),
      choice({ content: ".", refusal: "o" }, { finish_reason: "stop" }),
    );
    expect(choices[0]).toEqual({
      index: 0,
      finish_reason: "stop",
      message: {
        role: "assistant",
        content: "Yes.",
        refusal: "No",
        reasoning: "Hm…",
        reasoning_content: "So?",
      },
    });
  });

  it("joins log probabilities and annotations", async () => {
    const token = (text: string) => ({ token: text, logprob: -1, bytes: null, top_logprobs: [] });
    const cited = (url: string) => ({ type: "url_citation", url_citation: { url } });
    const { choices } = await whole(
      choice(
        { content: "a", annotations: [cited("1")] },
        { logprobs: { content: [token("a")], refusal: null } },
      ),
      choice({ content: "b" }, { logprobs: { content: [token("b")], refusal: null } }),
      choice({ annotations: [cited("2")] }, { logprobs: null }),
    );
    expect(choices[0]?.logprobs).toEqual({ content: [token("a"), token("b")], refusal: null });
    expect(choices[0]?.message.annotations).toEqual([cited("1"), cited("2")]);
  });

  it("keeps a spoken answer", async () => {
    const { choices } = await whole(
      choice({ audio: { id: "audio_1", transcript: "He" } }),
      choice({ audio: { data: "AAAA", transcript: "llo" } }),
      choice({ audio: { data: "BBBB", expires_at: 5 } }),
    );
    expect(choices[0]?.message.audio).toEqual({
      id: "audio_1",
      transcript: "Hello",
      data: "AAAABBBB",
      expires_at: 5,
    });
  });

  it("keeps the service tier, the fingerprint, the usage and fields that nobody knows, of every level", async () => {
    const completion = await whole(
      {
        ...choice({ vendor: { a: 1 }, notes: ["x"] }),
        service_tier: "default",
        usage: null,
        vendor_chunk: 1,
      },
      choice({ vendor: { b: 2 }, notes: ["y"] }, { vendor_choice: true, finish_reason: "length" }),
      { ...choice({}), choices: [], system_fingerprint: "fp", usage: { total_tokens: 3 }, vendor_chunk: 2 },
      { ...choice({}), choices: [], service_tier: null, usage: null },
    );
    expect(completion).toEqual({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      service_tier: "default",
      system_fingerprint: "fp",
      usage: { total_tokens: 3 },
      vendor_chunk: 2,
      choices: [
        {
          index: 0,
          finish_reason: "length",
          vendor_choice: true,
          message: {
            role: "assistant",
            content: null,
            refusal: null,
            vendor: { a: 1, b: 2 },
            notes: ["x", "y"],
          },
        },
      ],
    });
  });

  it("has whole tool calls, in whatever pieces they came, and choices in their order", async () => {
    const piece = (index: number, call: object) => ({ tool_calls: [{ index, ...call }] });
    const { choices } = await whole(
      choice({ content: "second" }, { index: 1 }),
      choice(piece(0, { id: "a", type: "function", function: { name: "open", arguments: "" } })),
      choice(piece(4_000_000, { id: "b", type: "function", function: { name: "close", arguments: "{" } })),
      choice(piece(0, { id: "", function: { name: "", arguments: '{"door"' } })),
      choice(piece(0, { id: "a", type: "function", function: { name: "open", arguments: ":1}" } })),
      choice(piece(4_000_000, { function: { arguments: "}" }, extra_content: { signature: "s" } })),
    );
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: "a", type: "function", function: { name: "open", arguments: '{"door":1}' } },
      {
        id: "b",
        type: "function",
        function: { name: "close", arguments: "{}" },
        extra_content: { signature: "s" },
      },
    ]);
  });

  it("has whole tool calls, although their pieces have no index", async () => {
    const piece = (call: object) => choice({ tool_calls: [call] });
    const { choices } = await whole(
      piece({ id: "a", type: "function", function: { name: "open", arguments: '{"door"' } }),
      piece({ function: { arguments: ":1" } }),
      piece({ id: "a", function: { name: "open", arguments: "}" } }),
      piece({ id: "b", function: { name: "close", arguments: "{}" } }),
      piece({ function: { name: "wait", arguments: null } }),
    );
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: "a", type: "function", function: { name: "open", arguments: '{"door":1}' } },
      { id: "b", type: "function", function: { name: "close", arguments: "{}" } },
      { id: "", type: "function", function: { name: "wait", arguments: "" } },
    ]);
  });

  it("takes no field for an object's prototype", async () => {
    const delta = JSON.parse('{"__proto__":{"polluted":true},"vendor":{"__proto__":{"polluted":true}}}');
    const { choices } = await whole(choice(delta));
    expect(choices[0]?.message).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("a stream of chunks", () => {
  const texts = (chunks: readonly ChatCompletionChunk[]) =>
    chunks.map(({ choices }) => choices[0]?.delta.content).join("");
  const two = () => streaming(choice({ content: "a" }), choice({ content: "b" }));

  it("can be iterated over before it is awaited", async () => {
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of two().chat.completions.create({ ...ask, stream: true })) chunks.push(chunk);
    expect(texts(chunks)).toBe("ab");
    const refused = newClient({ fetch: answersInTurn(failing(401)) });
    const error = await caught(collect(refused.chat.completions.create({ ...ask, stream: true })));
    expect(error).toBeInstanceOf(AuthenticationError);
  });

  it("can be read twice at different speeds after `tee`", async () => {
    const stream = await two().chat.completions.create({ ...ask, stream: true });
    const [fast, slow] = stream.tee();
    expect(texts(await collect(fast))).toBe("ab");
    expect(texts(await collect(slow))).toBe("ab");
    expect(() => stream.tee()).toThrow("tee");
  });

  it("gives both of `tee` its error", async () => {
    const fetch = answersInTurn(() => new Response(`data: ${JSON.stringify(choice({ content: "a" }))}\n\n`));
    const [one, other] = (await newClient({ fetch }).chat.completions.create({ ...ask, stream: true })).tee();
    for (const stream of [one, other]) {
      expect(await caught(collect(stream))).toMatchObject({ name: "StreamInterruptedError" });
    }
  });

  it("ends its request when both of `tee` have been left, and not before", async () => {
    let isCancelled = false;
    const data = new TextEncoder().encode(`data: ${JSON.stringify(choice({ content: "a" }))}\n\n`);
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(data),
      cancel: () => {
        isCancelled = true;
      },
    });
    const { chat } = newClient({ fetch: answersInTurn(() => new Response(body)) });
    const [one, other] = (await chat.completions.create({ ...ask, stream: true })).tee();
    for await (const _ of one) break;
    expect(isCancelled).toBe(false);
    for await (const _ of other) break;
    expect(isCancelled).toBe(true);
  });

  it.each(["create", "stream"] as const)("of `%s` can be passed on as lines of JSON", async (method) => {
    const { completions } = two().chat;
    const stream =
      method === "create" ? await completions.create({ ...ask, stream: true }) : completions.stream(ask);
    const lines = (await new Response(stream.toReadableStream()).text()).trimEnd().split("\n");
    expect(texts(lines.map((line) => JSON.parse(line)))).toBe("ab");
  });

  it.each(["dispose", "cancel"] as const)("ends its request by %s, while it waits for more", async (way) => {
    let aborted: AbortSignal | null | undefined;
    const fetch: typeof globalThis.fetch = async (_, init) => {
      aborted = init?.signal;
      return new Response(new ReadableStream());
    };
    const stream = await newClient({ fetch }).chat.completions.create({ ...ask, stream: true });
    if (way === "dispose") await stream[Symbol.asyncDispose]();
    else {
      const reader = stream.toReadableStream().getReader();
      const read = reader.read();
      await reader.cancel();
      expect((await read).done).toBe(true);
    }
    expect(aborted?.aborted).toBe(true);
  });

  it("is ended by `await using`", async () => {
    let aborted: AbortSignal | null | undefined;
    const fetch: typeof globalThis.fetch = async (_, init) => {
      aborted = init?.signal;
      return new Response(new ReadableStream());
    };
    const client = newClient({ fetch });
    {
      await using stream = await client.chat.completions.create({ ...ask, stream: true });
      expect(stream.controller.signal.aborted).toBe(false);
    }
    expect(aborted?.aborted).toBe(true);
    {
      await using stream = client.chat.completions.stream(ask);
      stream.on("content", () => {});
    }
    await expect.poll(() => aborted?.aborted).toBe(true);
  });
});
