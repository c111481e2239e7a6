import type { AppRouter as ServerRouter } from "@ostiary/server/router";
import type { inferRouterError, inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type OpenAI from "openai";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { ChatCompletionChunk, ChatCompletionCreateParams } from "../../sdk/src/contract/chat.ts";
import { errorFor } from "../../sdk/src/core/error-answers.ts";
import {
  APIConnectionTimeoutError,
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ContentTooLargeError,
  InternalServerError,
  NotFoundError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  StreamInterruptedError,
} from "../../sdk/src/core/errors.ts";
import type { AppRouter, RouterInputs, RouterOutputs } from "../../sdk/src/trpc.ts";
import { newClient } from "./fake-service.ts";

/** Ids have brands in the server that no one else can use, and lists may be changed there. */
type Plain<Value> = Value extends string & { readonly __id: string }
  ? string
  : Value extends bigint
    ? bigint
    : Value extends void
      ? undefined
      : Value extends Date | bigint | string | number | boolean | null
        ? Value
        : Value extends readonly (infer Item)[]
          ? readonly Plain<Item>[]
          : { readonly [Name in keyof Value]: Plain<Value[Name]> };

describe("the router's types in `ostiary/trpc`", () => {
  it("are those of the server's router", () => {
    type ServersOutputs = Plain<inferRouterOutputs<ServerRouter>>;
    expectTypeOf<Plain<RouterOutputs>>().toEqualTypeOf<ServersOutputs>();
    type ServersInputs = Plain<inferRouterInputs<ServerRouter>>;
    expectTypeOf<Plain<RouterInputs>>().toEqualTypeOf<ServersInputs>();
    type Told = inferRouterError<AppRouter>["data"]["ostiary"];
    expectTypeOf<Plain<Told>>().toEqualTypeOf<Plain<inferRouterError<ServerRouter>["data"]["ostiary"]>>();
  });
});

describe("a chat request of openai's types", () => {
  it("is accepted by the SDK's types", () => {
    type Theirs = OpenAI.ChatCompletionCreateParams;
    // Superseded by `tools`, or bound to OpenAI's own storage and moderation; messages are compared below.
    type Other = "functions" | "function_call" | "moderation" | "messages";
    expectTypeOf<
      Omit<Theirs, Other> & Pick<ChatCompletionCreateParams, "messages">
    >().toExtend<ChatCompletionCreateParams>();
    expectTypeOf<OpenAI.ChatCompletionUserMessageParam>().toExtend<
      ChatCompletionCreateParams["messages"][number]
    >();
    expectTypeOf<OpenAI.ChatCompletionSystemMessageParam>().toExtend<
      ChatCompletionCreateParams["messages"][number]
    >();
    expectTypeOf<OpenAI.ChatCompletionToolMessageParam>().toExtend<
      ChatCompletionCreateParams["messages"][number]
    >();
    expectTypeOf<OpenAI.ChatCompletionFunctionTool>().toExtend<
      NonNullable<ChatCompletionCreateParams["tools"]>[number]
    >();
  });
});

describe("a chat request with fields that the service translates, and OpenAI does not have", () => {
  it("is accepted by the SDK's types, as the reference of the API has it", () => {
    const cached = { cache_control: { type: "ephemeral", ttl: "1h" } } as const;
    const schema = { type: "object", properties: {} };
    const request = {
      model: "m",
      ...cached,
      messages: [
        { role: "system", content: [{ type: "text", text: "x", ...cached }] },
        { role: "user", content: "hi", ...cached },
        {
          role: "assistant",
          reasoning_content: "Well.",
          tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" }, ...cached }],
        },
        { role: "tool", tool_call_id: "a", content: "x", ...cached },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: schema }, ...cached }],
      top_k: 40,
      reasoning: { effort: "low", summary: "auto", exclude: false },
      include_reasoning: true,
      prompt_cache_options: { mode: "explicit", ttl: "30m" },
    } satisfies ChatCompletionCreateParams;
    const others: Partial<ChatCompletionCreateParams>[] = [
      { reasoning: { max_tokens: 2_000 } },
      { reasoning: { enabled: true } },
      { thinking: { type: "enabled", budget_tokens: 2_000, display: "omitted" } },
      { thinking: { type: "enabled" } },
      { thinking: { type: "adaptive" } },
      { thinking: { type: "disabled" } },
      // @ts-expect-error the service refuses it
      { thinking: { type: "adaptive", budget_tokens: 2_000 } },
      // @ts-expect-error the service refuses it
      { reasoning: { effort: "enormous" } },
    ];
    expect([request, ...others]).toHaveLength(9);
  });
});

describe("a call of a custom tool, as the service streams it", () => {
  it("has types for its pieces, which the whole answer joins", async () => {
    type Piece = NonNullable<ChatCompletionChunk["choices"][number]["delta"]["tool_calls"]>[number];
    const pieces: readonly Piece[] = [
      { index: 0, id: "a", type: "custom", custom: { name: "sql", input: "" } },
      { index: 0, custom: { input: "select" } },
      { index: 0, custom: { input: " 1" } },
    ];
    const events = pieces.map((piece) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] }));
    const text = [...events.map((event) => JSON.stringify(event)), "[DONE]"].map(
      (data) => `data: ${data}\n\n`,
    );
    const client = newClient({ fetch: async () => new Response(text.join("")) });
    const { tool_calls: calls } = await client.chat.completions
      .stream({ model: "m", messages: [] })
      .finalMessage();
    expect(calls).toEqual([{ id: "a", type: "custom", custom: { name: "sql", input: "select 1" } }]);
  });
});

describe("a caught error", () => {
  const told = (error: unknown) => {
    if (error instanceof RateLimitError) {
      expectTypeOf(error).toEqualTypeOf<RateLimitError>();
      expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | null>();
      expectTypeOf(error.limit).toEqualTypeOf<number | null>();
      return "limited";
    }
    if (error instanceof PermissionDeniedError) {
      expectTypeOf(error.reason).toEqualTypeOf<
        "account_suspended" | "ip_blocked" | "permission_denied" | null
      >();
      return "denied";
    }
    if (error instanceof StreamInterruptedError || error instanceof APIConnectionTimeoutError) {
      expectTypeOf(error).toEqualTypeOf<StreamInterruptedError | APIConnectionTimeoutError>();
      return "broken off";
    }
    if (!(error instanceof APIError)) return "other";
    expectTypeOf(error.status).toEqualTypeOf<number>();
    expectTypeOf(error.headers).toEqualTypeOf<Headers>();
    // Classes that say nothing more than their parent are still told apart, one after the other.
    if (error instanceof BadRequestError) return error.name satisfies "BadRequestError";
    if (error instanceof AuthenticationError) return error.name satisfies "AuthenticationError";
    if (error instanceof PaymentRequiredError) return error.name satisfies "PaymentRequiredError";
    if (error instanceof NotFoundError) return error.name satisfies "NotFoundError";
    if (error instanceof ConflictError) return error.name satisfies "ConflictError";
    if (error instanceof ContentTooLargeError) return error.name satisfies "ContentTooLargeError";
    if (error instanceof InternalServerError) return error.name satisfies "InternalServerError";
    expectTypeOf(error).toEqualTypeOf<APIError>();
    return "another status";
  };

  it("is narrowed to its class, with that class's fields", () => {
    const answers = [400, 401, 402, 403, 404, 409, 413, 418, 429, 500].map((status) =>
      told(errorFor(status, null, new Headers())),
    );
    expect(answers).toEqual([
      "BadRequestError",
      "AuthenticationError",
      "PaymentRequiredError",
      "denied",
      "NotFoundError",
      "ConflictError",
      "ContentTooLargeError",
      "another status",
      "limited",
      "InternalServerError",
    ]);
    expect(told(new StreamInterruptedError("", null))).toBe("broken off");
    expect(told("nothing of ours")).toBe("other");
  });
});
