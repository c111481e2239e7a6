import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type OpenAI from "openai";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { ChatCompletionCreateParams } from "../../sdk/src/contract/chat.ts";
import type {
  Account,
  AuditVerification,
  Balance,
  CreatedKey,
  KeyCreateParams,
  LedgerEntry,
  ListedKey,
  UsageSummary,
  UsageSummaryParams,
} from "../../sdk/src/contract/management.ts";

import type {
  AccountChange,
  Action,
  CatalogInForce,
  CreditNode,
  JournalReplay,
  ListedAccount,
  ReconciliationReport,
  SecurityEvent,
  SecurityParams,
  ServiceUsage,
  ServiceUsageParams,
  SetAside,
  SetAsideLine,
  UpstreamHealth,
} from "../../sdk/src/contract/operator.ts";
import {
  APIConnectionTimeoutError,
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ContentTooLargeError,
  errorFor,
  InternalServerError,
  NotFoundError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  StreamInterruptedError,
} from "../../sdk/src/core/errors.ts";
import type { OstiaryOperator } from "../../sdk/src/operator.ts";

type Outputs = inferRouterOutputs<AppRouter>;
type Inputs = inferRouterInputs<AppRouter>;

/** Ids have brands in the server, which say nothing to who reads them. */
type Plain<Value> = Value extends string & { readonly __id: string }
  ? string
  : Value extends Date | bigint | string | number | boolean | null | undefined
    ? Value
    : Value extends readonly (infer Item)[]
      ? readonly Plain<Item>[]
      : { readonly [Name in keyof Value]: Plain<Value[Name]> };

describe("the hand-written contract of procedures", () => {
  it("equals what the router returns", () => {
    expectTypeOf<Plain<Outputs["keys"]["list"]["keys"][number]>>().toExtend<ListedKey>();
    expectTypeOf<Plain<Outputs["keys"]["create"]>>().toExtend<CreatedKey>();
    expectTypeOf<Plain<Outputs["keys"]["rotate"]>>().toExtend<CreatedKey>();
    expectTypeOf<Plain<Outputs["account"]["get"]>>().toExtend<Account>();
    expectTypeOf<Plain<Outputs["credits"]["balance"]>>().toEqualTypeOf<Balance>();
    expectTypeOf<Plain<Outputs["credits"]["ledger"]["entries"][number]>>().toEqualTypeOf<LedgerEntry>();
    expectTypeOf<Plain<Outputs["usage"]["summary"]>>().toExtend<UsageSummary>();
    expectTypeOf<Plain<Outputs["audit"]["verify"]>>().toExtend<AuditVerification>();
    // And nothing that the router does not tell.
    expectTypeOf<keyof ListedKey>().toExtend<keyof Outputs["keys"]["list"]["keys"][number]>();
    expectTypeOf<keyof Account>().toExtend<keyof Outputs["account"]["get"]>();
    expectTypeOf<keyof AuditVerification>().toExtend<keyof Outputs["audit"]["verify"]>();
  });

  it("equals what the router returns to operators", () => {
    type Operator = Outputs["operator"];
    expectTypeOf<Plain<Operator["accounts"]["list"]["accounts"][number]>>().toExtend<ListedAccount>();
    expectTypeOf<Plain<Operator["accounts"]["get"]>>().toExtend<ListedAccount>();
    expectTypeOf<Plain<Operator["accounts"]["create"]["account"]>>().toExtend<ListedAccount>();
    expectTypeOf<Plain<Operator["accounts"]["setPlan"]>>().toExtend<AccountChange>();
    expectTypeOf<Plain<Operator["upstreams"]["upstreams"][number]>>().toEqualTypeOf<UpstreamHealth>();
    expectTypeOf<Plain<Operator["checkBooks"]>>().toExtend<ReconciliationReport>();
    type Node = Omit<Operator["nodes"]["list"]["nodes"][number], "id"> & { readonly id: bigint };
    expectTypeOf<Plain<Node>>().toEqualTypeOf<CreditNode>();
    expectTypeOf<keyof ReconciliationReport>().toEqualTypeOf<keyof Operator["checkBooks"]>();
    expectTypeOf<Plain<Operator["audit"]["actions"][number]>>().toExtend<Action>();
    expectTypeOf<keyof Action>().toEqualTypeOf<keyof Operator["audit"]["actions"][number]>();
    expectTypeOf<Plain<Operator["catalog"]>>().toExtend<CatalogInForce>();
    expectTypeOf<Plain<Operator["usage"]>>().toEqualTypeOf<ServiceUsage>();
    expectTypeOf<Plain<Operator["security"]["events"][number]>>().toEqualTypeOf<SecurityEvent>();
    expectTypeOf<Plain<Operator["journal"]["list"]>>().toEqualTypeOf<SetAside>();
    expectTypeOf<Plain<Operator["journal"]["get"]>>().toEqualTypeOf<SetAsideLine>();
    expectTypeOf<Plain<Operator["journal"]["replay"]>>().toEqualTypeOf<JournalReplay>();
    type Verdict = Awaited<ReturnType<OstiaryOperator["accounts"]["tryIpRules"]>>;
    expectTypeOf<Plain<Operator["accounts"]["tryIpRules"]>>().toEqualTypeOf<Verdict>();
  });

  it("equals what the router accepts", () => {
    expectTypeOf<Required<KeyCreateParams>["name"]>().toExtend<Inputs["keys"]["create"]["name"]>();
    expectTypeOf<keyof KeyCreateParams>().toEqualTypeOf<keyof Inputs["keys"]["create"]>();
    expectTypeOf<keyof UsageSummaryParams>().toEqualTypeOf<keyof Inputs["usage"]["summary"]>();
    type Operator = Inputs["operator"];
    expectTypeOf<keyof ServiceUsageParams>().toEqualTypeOf<keyof Operator["usage"]>();
    expectTypeOf<ServiceUsageParams["groupBy"]>().toEqualTypeOf<Operator["usage"]["groupBy"]>();
    type Security = Exclude<Operator["security"], void>;
    // What tRPC's own queries send along is none of the SDK's.
    expectTypeOf<keyof SecurityParams>().toEqualTypeOf<Exclude<keyof Security, "direction">>();
    expectTypeOf<SecurityParams["kind"]>().toEqualTypeOf<Security["kind"]>();
    type Journal = OstiaryOperator["journal"];
    type Replay = NonNullable<Parameters<Journal["replay"]>[0]>;
    expectTypeOf<keyof Replay>().toEqualTypeOf<keyof Exclude<Operator["journal"]["replay"], void>>();
    expectTypeOf<keyof Parameters<Journal["discard"]>[0]>().toEqualTypeOf<
      keyof Operator["journal"]["discard"]
    >();
    type Listing = Exclude<Operator["accounts"]["list"], void>;
    type ListParams = NonNullable<Parameters<OstiaryOperator["accounts"]["list"]>[0]>;
    expectTypeOf<keyof ListParams>().toEqualTypeOf<Exclude<keyof Listing, "direction">>();
    expectTypeOf<ListParams["state"]>().toEqualTypeOf<Listing["state"]>();
    expectTypeOf<ListParams["plan"]>().toEqualTypeOf<Listing["plan"]>();
  });
});

describe("a chat request of openai's types", () => {
  it("is accepted by the SDK's types", () => {
    type Theirs = OpenAI.ChatCompletionCreateParams;
    // Superseded by `tools`, or bound to OpenAI's own storage and moderation; messages are compared below.
    type Other = "functions" | "function_call" | "moderation" | "prompt_cache_options" | "messages";
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
