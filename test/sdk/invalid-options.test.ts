import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AuditExportParams,
  Ostiary,
  OstiaryError,
  tool,
  verifyActionsExport,
  verifyAuditExport,
} from "../../sdk/src/index.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { ostiaryLink } from "../../sdk/src/trpc.ts";
import { answersInTurn, collect, emptyList, newClient } from "./fake-service.ts";

const client = newClient({ fetch: answersInTurn(emptyList) });
const operator = new OstiaryOperator({ managementToken: "mt-test", fetch: answersInTurn(emptyList) });
const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const noDate = new Date(Number.NaN);
const circular: Record<string, unknown> = {};
circular.own = circular;
/** A value that TypeScript would refuse. */
const wrong = (value: unknown) => value as never;
const { completions } = client.chat;
const noConverted = z.object({ at: z.bigint() });

const calls: Record<string, [() => unknown, RegExp]> = {
  "null as the options of a client": [() => new Ostiary(wrong(null)), /Invalid option/],
  "null as the options of an operator's client": [() => new OstiaryOperator(wrong(null)), /Invalid option/],
  "null as the options of a link": [() => ostiaryLink(wrong(null)), /Invalid option/],
  "an empty id of a model": [() => client.models.retrieve(""), /id must not be empty/],
  "no id of a model": [() => client.models.retrieve(wrong(undefined)), /id must not be empty/],
  "toArray without options": [() => client.audit.list().toArray(wrong(undefined)), /limit/],
  "toArray without a limit": [() => client.models.list().toArray(wrong({})), /limit/],
  "toArray of a page with a limit that is no number": [
    async () => (await client.audit.list()).toArray({ limit: Number.NaN }),
    /limit/,
  ],
  "a negative limit": [() => client.models.list().toArray({ limit: -1 }), /limit/],
  "an invalid date of a list": [() => client.audit.list({ from: noDate }), /from is not a valid date/],
  "an invalid date of an export": [
    () => collect(client.audit.export({ to: noDate } satisfies AuditExportParams)),
    /to is not a valid date/,
  ],
  "an invalid date of a procedure": [
    () => client.usage.summary({ from: noDate, to: new Date(), interval: "day" }),
    /from is not a valid date/,
  ],
  "an invalid date of the query": [() => client.models.list({ query: { x: noDate } }), /x is not a valid/],
  "resumptions that are no number": [
    () => collect(client.audit.export({}, { maxResumptions: Number.NaN })),
    /maxResumptions/,
  ],
  "parse without a format": [() => completions.parse(ask, wrong(undefined)), /schema/],
  "parse without a schema": [() => completions.parse(ask, wrong({})), /schema/],
  "parse with only a JSON schema": [() => completions.parse(ask, wrong({ jsonSchema: {} })), /schema/],
  "a schema that its library cannot convert": [
    () => completions.parse(ask, { schema: noConverted }),
    /BigInt/,
  ],
  "a tool without a schema": [() => tool(wrong({ name: "a" })), /schema/],
  "runTools without tools": [() => completions.runTools(wrong(ask)), /Invalid option/],
  "a tool that `tool` has not made": [
    () => completions.runTools({ ...ask, tools: wrong([{ type: "function" }]) }),
    /Invalid option/,
  ],
  "a body that JSON cannot express": [() => completions.create({ ...ask, extra_body: circular }), /circular/],
  "an input that JSON cannot express": [() => client.trpc.usage.summary.query(wrong(circular)), /Invalid/],
  "an address that is no string": [() => newClient({ baseURL: wrong(new URL("http://x")) }), /trim/],
  "an expected point that is a text": [() => verifyAuditExport([], { expected: wrong("1:aa") }), /expected/],
  "an expected point without a digest": [
    () => verifyAuditExport([], { expected: [wrong({ batch: 1 })] }),
    /expected/,
  ],
  "an expected action that is a text": [
    () => verifyActionsExport([], { expected: wrong("1:aa") }),
    /expected/,
  ],
  "an amount that is no whole number": [
    () => operator.accounts.grantCredits("id", { amountNanoUsd: "1.5", reason: "r" }),
    /amountNanoUsd must be a whole number/,
  ],
  "a node's id that is no number": [() => operator.nodes.release("first", { reason: "r" }), /id must be/],
};

describe("a call that is not valid", () => {
  it.each(Object.entries(calls))("throws OstiaryError itself: %s", async (_, [call, message]) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OstiaryError);
    expect(error).toMatchObject({ name: "OstiaryError", message: expect.stringMatching(message) });
  });
});
