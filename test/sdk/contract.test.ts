import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type OpenAI from "openai";
import { describe, expectTypeOf, it } from "vitest";
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
  AccountDetails,
  Action,
  BooksReport,
  CatalogInForce,
  ListedAccount,
  UpstreamHealth,
} from "../../sdk/src/contract/operator.ts";
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
  it("is what the router answers", () => {
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

  it("is what the router answers operators", () => {
    type Operator = Outputs["operator"];
    expectTypeOf<Plain<Operator["accounts"]["list"]["accounts"][number]>>().toExtend<ListedAccount>();
    expectTypeOf<Plain<Operator["accounts"]["get"]>>().toExtend<AccountDetails>();
    expectTypeOf<Plain<Operator["accounts"]["create"]["account"]>>().toExtend<AccountDetails>();
    expectTypeOf<Plain<Operator["accounts"]["setPlan"]>>().toExtend<AccountChange>();
    expectTypeOf<Plain<Operator["upstreams"]["upstreams"][number]>>().toEqualTypeOf<UpstreamHealth>();
    expectTypeOf<Plain<Operator["checkBooks"]>>().toExtend<BooksReport>();
    expectTypeOf<keyof BooksReport>().toEqualTypeOf<keyof Operator["checkBooks"]>();
    expectTypeOf<Plain<Operator["audit"]["actions"][number]>>().toExtend<Action>();
    expectTypeOf<keyof Action>().toEqualTypeOf<keyof Operator["audit"]["actions"][number]>();
    expectTypeOf<Plain<Operator["catalog"]>>().toExtend<CatalogInForce>();
    type Verdict = Awaited<ReturnType<OstiaryOperator["accounts"]["tryIpRules"]>>;
    expectTypeOf<Plain<Operator["accounts"]["tryIpRules"]>>().toEqualTypeOf<Verdict>();
  });

  it("is what the router takes", () => {
    expectTypeOf<Required<KeyCreateParams>["name"]>().toExtend<Inputs["keys"]["create"]["name"]>();
    expectTypeOf<keyof KeyCreateParams>().toEqualTypeOf<keyof Inputs["keys"]["create"]>();
    expectTypeOf<keyof UsageSummaryParams>().toEqualTypeOf<keyof Inputs["usage"]["summary"]>();
  });
});

describe("what openai's types accept for a chat", () => {
  it("is accepted here", () => {
    type Theirs = OpenAI.ChatCompletionCreateParams;
    type Shared = Pick<
      Theirs,
      | "model"
      | "stream"
      | "temperature"
      | "top_p"
      | "n"
      | "stop"
      | "seed"
      | "max_tokens"
      | "logprobs"
      | "metadata"
      | "user"
    >;
    expectTypeOf<
      Shared & Pick<ChatCompletionCreateParams, "messages">
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
