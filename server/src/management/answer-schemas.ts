import type { Schema } from "../operations/openapi-parts.ts";

/*
 * The JSON Schemas of procedures' answers, by the names of the procedures: with the answers' own names, `format: "date-time"` for a
 * `Date`, and `format: "bigint"` for a bigint. Each is complete in itself, without references.
 */

const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };
const uuid = { type: "string", format: "uuid" };
const uuidOrNull = { type: ["string", "null"], format: "uuid" };
const count = { type: "integer" };
const countOrNull = { type: ["integer", "null"] };
const flag = { type: "boolean" };
const time = { type: "string", format: "date-time" };
const timeOrNull = { type: ["string", "null"], format: "date-time" };
const money = { type: "string", format: "bigint" };

/** An object of which every property is present. */
function object(properties: Readonly<Record<string, Schema>>) {
  return { type: "object", required: Object.keys(properties), properties };
}

function described(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: "null" }] };
}

function pageOf(name: string, items: Schema): Schema {
  return object({ [name]: { type: "array", items }, nextCursor: textOrNull });
}

const keyFields = {
  id: uuid,
  name: text,
  keyId: described(text, "Last 4 characters of the key string"),
  state: { enum: ["active", "revoked"] },
  createdAt: time,
  revokedAt: timeOrNull,
  replaces: described(uuidOrNull, "The key that this one was created to take over from"),
};

const usageFields = {
  lastUsedAt: timeOrNull,
  lastUsedIp: described(textOrNull, "Client address of the last request; null if unknown"),
  addresses: described(count, "The number of client addresses in the last 30 days"),
  requestsLastMinute: count,
  requestsLastHour: count,
  requestsLastDay: count,
};

const rotation = described(
  orNull(
    object({
      successorId: uuid,
      idleAfterSeconds: described(count, "Time without a request after which the key counts as idle"),
      idleSince: described(time, "The key's last request, or the successor's creation if that was later"),
      isIdle: flag,
    }),
  ),
  "How far a successor has taken over; null without a successor",
);

const createdKey = object({
  id: uuid,
  name: text,
  keyId: keyFields.keyId,
  key: described(text, "The key string, which cannot be read again"),
  state: { const: "active" },
  createdAt: time,
  replaces: keyFields.replaces,
});

const totalsFields = {
  requests: count,
  errors: described(count, "Requests that were answered with a status of 400 or more"),
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
  costNanoUsd: money,
};

const limits = object({
  requestsPerMinute: countOrNull,
  tokensPerMinute: countOrNull,
  concurrentRequests: countOrNull,
});

const actionState = described(
  { type: ["object", "null"], additionalProperties: true },
  "The parts that differ",
);

/** The schemas of the procedures that REST operations call. */
export const ANSWER_SCHEMAS = {
  "keys.list": pageOf("keys", object({ ...keyFields, usage: object(usageFields), rotation })),
  "keys.create": createdKey,
  "keys.rotate": createdKey,
  "keys.revoke": object(keyFields),
  "keys.usage": object({
    id: uuid,
    keyId: keyFields.keyId,
    name: text,
    state: keyFields.state,
    rotation,
    ...usageFields,
  }),
  "usage.summary": object({
    rows: described(
      {
        type: "array",
        items: object({
          start: described(time, "When the interval begins"),
          model: described(
            textOrNull,
            "null unless grouped by model; empty for requests without a model, `unknown model` for all that the catalog lacks",
          ),
          key: described(
            orNull(object({ id: uuid, keyId: keyFields.keyId, name: text })),
            "null unless grouped by key",
          ),
          isOther: described(flag, "Whether the row sums up the models or keys without rows of their own"),
          ...totalsFields,
        }),
      },
      "In order of time; intervals without requests are left out",
    ),
    total: object(totalsFields),
  }),
  "account.get": object({
    id: uuid,
    name: text,
    plan: { enum: ["free", "pro", "enterprise"] },
    state: { enum: ["active", "suspended"] },
    suspension: orNull(object({ at: time, reason: text })),
    ipRules: object({
      mode: { enum: ["enforce", "report"] },
      networks: described({ type: "array", items: text }, "None: no restriction"),
    }),
    limits: described(limits, "Limits that differ from the plan's; null uses the plan's"),
    createdAt: time,
    auditRetentionDays: described(countOrNull, "null: audit entries are kept for ever"),
    keyLimit: described(countOrNull, "The maximum of active keys; null: any number"),
    limitsInForce: described(limits, "null: no limit"),
    ipRulesInForce: described(flag, "Whether the IP rules apply; they need the enterprise plan"),
  }),
  "account.limits": object({
    limits: described(limits, "The limits in force; null: no limit"),
    used: described(
      object({
        requests: described(count, "In the last minute"),
        tokens: described(count, "In the last minute; estimated for requests that have not ended"),
        concurrent: described(count, "Requests that are being answered"),
      }),
      "What is used of the limits, on all nodes; 0 without a limit",
    ),
  }),
  "account.actions": pageOf(
    "actions",
    object({
      id: uuid,
      at: time,
      by: described(
        orNull(object({ userId: uuid, managementToken: uuidOrNull, sourceIp: textOrNull })),
        "null for operators and the service itself",
      ),
      userEmail: textOrNull,
      byOperator: flag,
      action: described(text, "Such as `key.create`"),
      reason: textOrNull,
      before: actionState,
      after: actionState,
    }),
  ),
  "credits.balance": object({
    balanceNanoUsd: money,
    reservedNanoUsd: described(money, "The part of the balance that nodes have reserved for requests"),
  }),
  "credits.ledger": pageOf(
    "entries",
    object({
      id: uuid,
      at: time,
      kind: { enum: ["grant", "adjustment", "charge", "uncollected"] },
      amountNanoUsd: described(money, "Negative for amounts that reduce the balance"),
      reason: text,
    }),
  ),
} satisfies Readonly<Record<string, Schema>>;
