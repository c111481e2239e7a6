// Generated from the server's router by `npm run procedures`. Do not edit.

/**
 * The JSON Schemas of the outputs of procedures that are REST operations, by the names of the procedures. Every property is required. A
 * `Date` has the format `date-time`, and a bigint the format `bigint`.
 */
export const ANSWER_SCHEMAS = {
  "account.actions": {
    type: "object",
    properties: {
      actions: {
        type: "array",
        items: {
          type: "object",
          properties: {
            at: { type: "string", format: "date-time", description: "When the change was made." },
            by: {
              anyOf: [
                {
                  type: "object",
                  properties: {
                    userId: { type: "string", description: "The id of the user, a UUID." },
                    managementToken: {
                      type: ["string", "null"],
                      description: "The id of the management token that a script used; `null` for a session.",
                    },
                    sourceIp: {
                      type: ["string", "null"],
                      description: "The address of the client; `null`: unknown.",
                    },
                  },
                },
                { type: "null" },
              ],
              description:
                "The author of the change; `null`: the service itself, or an operator where the account's users read it.",
            },
            action: {
              type: "string",
              enum: [
                "account.create",
                "account.grantCredits",
                "account.reinstate",
                "account.setIpRules",
                "account.setLimits",
                "account.setPlan",
                "account.suspend",
                "credit.release",
                "journal.discard",
                "journal.replay",
                "key.create",
                "key.reissue",
                "key.revoke",
                "key.rotate",
                "provider.check",
                "token.create",
                "token.revoke",
                "upstream.test",
                "user.changePassword",
                "user.resetPassword",
                "user.signOutAll",
                "user.signUp",
              ],
              description: "The change.",
            },
            reason: {
              type: ["string", "null"],
              description: "The reason that its author gave; `null`: none.",
            },
            before: {
              anyOf: [{ type: "object", additionalProperties: {} }, { type: "null" }],
              description: "The parts that changed, before the change. `null`: nothing to show.",
            },
            after: {
              anyOf: [{ type: "object", additionalProperties: {} }, { type: "null" }],
              description: "The same parts after the change. `null`: nothing to show.",
            },
            id: { type: "string", description: "The id of the change, a UUID." },
            userEmail: {
              type: ["string", "null"],
              description: "The e-mail address of the author; `null` where `by` is.",
            },
            byOperator: { type: "boolean", description: "Whether an operator made the change." },
          },
        },
        description: "The changes of the page, newest first.",
      },
      nextCursor: {
        type: ["string", "null"],
        description: "The `cursor` of the next page; `null` on the last page.",
      },
    },
  },
  "account.get": {
    type: "object",
    properties: {
      id: { type: "string", description: "The id of the account, a UUID." },
      name: { type: "string", description: "The name of the account." },
      plan: {
        type: "string",
        enum: ["enterprise", "free", "pro"],
        description: "The plan, which sets limits and retention.",
      },
      state: {
        type: "string",
        enum: ["active", "suspended"],
        description: "Whether the account's keys and tokens are accepted.",
      },
      suspension: {
        anyOf: [
          {
            type: "object",
            properties: {
              at: { type: "string", format: "date-time", description: "When the account was suspended." },
              reason: { type: "string", description: "The reason that the operator gave." },
            },
          },
          { type: "null" },
        ],
        description: "When and why the account was suspended; `null` while it is active.",
      },
      ipRules: {
        type: "object",
        properties: {
          mode: {
            type: "string",
            enum: ["enforce", "report"],
            description:
              "`enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`.",
          },
          networks: {
            type: "array",
            items: { type: "string" },
            description: "IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass.",
          },
        },
        description: "The addresses from which the keys may be used.",
      },
      limits: {
        $ref: "#/components/schemas/Limits",
        description: "The account's own limits. `null`: the limit of the plan.",
      },
      createdAt: { type: "string", format: "date-time", description: "When the account was created." },
      auditRetentionDays: {
        type: ["integer", "null"],
        description: "The days for which audit entries are kept; `null`: forever.",
      },
      responsesTtlDays: {
        type: "integer",
        description: "The days for which responses are stored with their prompts; 0: none is stored.",
      },
      keyLimit: { type: ["integer", "null"], description: "The maximum of active keys; `null`: no maximum." },
      limitsInForce: {
        $ref: "#/components/schemas/Limits",
        description: "The limits in force: the account's own, or those of its plan. `null`: no limit.",
      },
      ipRulesInForce: {
        type: "boolean",
        description:
          "Whether the IP rules are in force. An account that left the enterprise plan keeps its rules without effect.",
      },
    },
  },
  "account.limits": {
    type: "object",
    properties: {
      limits: { $ref: "#/components/schemas/Limits", description: "The limits in force. `null`: no limit." },
      used: {
        type: "object",
        properties: {
          requests: {
            type: "integer",
            description: "Requests of the last minute. 0 without a limit, because then they are not counted.",
          },
          tokens: {
            type: "integer",
            description:
              "Tokens of the last minute, estimated for requests that have not ended. 0 without a limit.",
          },
          concurrent: {
            type: "integer",
            description: "Requests that are being answered, counted without a limit, too.",
          },
        },
        description: "The present use of the limits.",
      },
    },
  },
  "audit.summary": {
    type: "object",
    properties: {
      total: {
        type: "object",
        properties: {
          requests: { type: "integer", description: "The number of requests, including refused ones." },
          errors: {
            type: "integer",
            description:
              "The requests that failed: answered with a status of 400 or more, or aborted with an error code.",
          },
          promptTokens: { type: "integer", description: "The tokens of the prompts." },
          completionTokens: { type: "integer", description: "The tokens of the answers." },
          costNanoUsd: { type: "string", format: "bigint", description: "The cost in nano-USD." },
        },
        description: "The sums over all entries that were counted.",
      },
      countedFrom: {
        type: ["string", "null"],
        format: "date-time",
        description:
          "The time up to which older entries were not counted, because there are too many; `null`: all were counted.",
      },
      bucketMs: {
        type: "integer",
        description: "The length of an interval of the histogram in milliseconds.",
      },
      buckets: {
        type: "array",
        items: {
          type: "object",
          properties: {
            start: { type: "string", format: "date-time", description: "When the interval begins." },
            requests: { type: "integer", description: "The number of requests, including refused ones." },
            errors: { type: "integer", description: "The requests that failed." },
          },
        },
        description:
          "The intervals of the histogram, in order of time, without gaps: at most 100. Empty without entries.",
      },
      models: {
        type: "array",
        items: { $ref: "#/components/schemas/ValueCount" },
        description: "The models with the most requests, at most 100.",
      },
      errorCodes: {
        type: "array",
        items: { $ref: "#/components/schemas/ValueCount" },
        description: "The error codes with the most requests, at most 100.",
      },
      statuses: {
        type: "array",
        items: { $ref: "#/components/schemas/ValueCount" },
        description: "The statuses with the most requests, at most 100.",
      },
      upstreams: {
        type: "array",
        items: { $ref: "#/components/schemas/ValueCount" },
        description: "The upstreams with the most requests, at most 100.",
      },
    },
  },
  "credits.balance": {
    type: "object",
    properties: {
      balanceNanoUsd: {
        type: "string",
        format: "bigint",
        description: "The balance in nano-USD, including the reserved part.",
      },
      reservedNanoUsd: {
        type: "string",
        format: "bigint",
        description: "The part of the balance that nodes have reserved for requests, in nano-USD.",
      },
    },
  },
  "credits.ledger": {
    type: "object",
    properties: {
      entries: {
        type: "array",
        items: {
          type: "object",
          properties: {
            id: { type: "string", description: "The id of the transaction, a UUID." },
            at: { type: "string", format: "date-time", description: "When the transaction was recorded." },
            kind: {
              type: "string",
              enum: ["adjustment", "charge", "grant", "uncollected"],
              description:
                "A `charge` covers many requests, whose entries are in the audit log. It is written in full; the part that the account did not pay is a row of its own, `uncollected`. A `grant` adds credit, and an `adjustment` takes it back.",
            },
            amountNanoUsd: {
              type: "string",
              format: "bigint",
              description: "The amount in nano-USD. Charges and adjustments are negative.",
            },
            reason: {
              type: "string",
              description:
                "Why the balance changed: `requests` for a charge, and what the operator gave for a grant or an adjustment. Of an `uncollected` amount: `beyond_hold` (the request cost more than was held for it), `released` (the credit of its node had been released), `repeated` (a second answer to one idempotency key) or `implausible` (reported by an upstream beyond what the model can do; at most 1 USD of a request).",
            },
          },
        },
        description: "The transactions of the page, newest first.",
      },
      nextCursor: {
        type: ["string", "null"],
        description: "The `cursor` of the next page; `null` on the last page.",
      },
    },
  },
  "credits.statement": {
    type: "object",
    properties: {
      lines: {
        type: "array",
        items: {
          type: "object",
          properties: {
            id: {
              type: "string",
              description:
                "The id of the line, a UUID: that of the transaction, or one that stands for the day.",
            },
            at: {
              type: "string",
              format: "date-time",
              description: "When the transaction was recorded. Of `requests`: when the UTC day begins.",
            },
            kind: {
              type: "string",
              enum: ["adjustment", "grant", "requests"],
              description:
                "A `grant` adds credit, and an `adjustment` takes it back. `requests` sums up all charges that were recorded on a UTC day, less what was not collected of them.",
            },
            amountNanoUsd: {
              type: "string",
              format: "bigint",
              description:
                "The amount in nano-USD, by which the line changed the balance. Of adjustments and requests it is negative, or 0.",
            },
            reason: {
              type: "string",
              description:
                "What the operator gave as the reason of a grant or an adjustment; `requests` for a day's requests.",
            },
            uncollectedNanoUsd: {
              type: "string",
              format: "bigint",
              description:
                "The part of the day's costs that the account did not pay, in nano-USD; 0 for grants and adjustments.",
            },
          },
        },
        description: "The lines of the page, newest first.",
      },
      nextCursor: {
        type: ["string", "null"],
        description: "The `cursor` of the next page; `null` on the last page.",
      },
    },
  },
  "keys.addresses": {
    type: "object",
    properties: {
      addresses: {
        type: "array",
        items: {
          type: "object",
          properties: {
            ip: { type: "string", description: "An IPv4 or IPv6 address." },
            lastUsedAt: {
              type: "string",
              format: "date-time",
              description: "When the last request with the key arrived from it.",
            },
          },
        },
        description: "The addresses.",
      },
    },
  },
  "keys.create": { $ref: "#/components/schemas/CreatedKey" },
  "keys.list": {
    type: "object",
    properties: {
      keys: {
        type: "array",
        items: {
          type: "object",
          properties: {
            usage: {
              type: "object",
              properties: {
                lastUsedAt: {
                  type: ["string", "null"],
                  format: "date-time",
                  description: "When the last request arrived; `null`: never used.",
                },
                lastUsedIp: {
                  type: ["string", "null"],
                  description:
                    "The address of the last request; `null` if the key was never used or the address is unknown.",
                },
                addresses: {
                  type: "integer",
                  description: "The number of client addresses in the last 30 days.",
                },
                requestsLastMinute: { type: "integer", description: "Requests in the last 60 seconds." },
                requestsLastHour: {
                  type: "integer",
                  description: "Requests in the present minute and the 60 before it.",
                },
                requestsLastDay: {
                  type: "integer",
                  description: "Requests in the present minute and the 1,440 before it.",
                },
              },
              description: "How much the key is used.",
            },
            rotation: {
              anyOf: [{ $ref: "#/components/schemas/Rotation" }, { type: "null" }],
              description: "How far the successor has taken over; `null`: `rotate` has created none.",
            },
            id: { type: "string", description: "The id of the key, a UUID." },
            name: { type: "string", description: "The name of the key." },
            keyId: { type: "string", description: "Last 4 characters of the key string." },
            state: {
              type: "string",
              enum: ["active", "revoked"],
              description: "Whether requests with the key are accepted.",
            },
            createdAt: { type: "string", format: "date-time", description: "When the key was created." },
            revokedAt: {
              type: ["string", "null"],
              format: "date-time",
              description: "When the key was revoked; `null`: it is active.",
            },
            replaces: {
              type: ["string", "null"],
              description: "The id of the key that this one was created to replace; `null`: none.",
            },
          },
        },
        description: "The keys of the page.",
      },
      nextCursor: {
        type: ["string", "null"],
        description: "The `cursor` of the next page; `null` on the last page.",
      },
    },
  },
  "keys.revoke": {
    type: "object",
    properties: {
      id: { type: "string", description: "The id of the key, a UUID." },
      name: { type: "string", description: "The name of the key." },
      keyId: { type: "string", description: "Last 4 characters of the key string." },
      state: {
        type: "string",
        enum: ["active", "revoked"],
        description: "Whether requests with the key are accepted.",
      },
      createdAt: { type: "string", format: "date-time", description: "When the key was created." },
      revokedAt: {
        type: ["string", "null"],
        format: "date-time",
        description: "When the key was revoked; `null`: it is active.",
      },
      replaces: {
        type: ["string", "null"],
        description: "The id of the key that this one was created to replace; `null`: none.",
      },
    },
  },
  "keys.rotate": { $ref: "#/components/schemas/CreatedKey" },
  "keys.usage": {
    type: "object",
    properties: {
      id: { type: "string", description: "The id of the key, a UUID." },
      name: { type: "string", description: "The name of the key." },
      keyId: { type: "string", description: "Last 4 characters of the key string." },
      state: {
        type: "string",
        enum: ["active", "revoked"],
        description: "Whether requests with the key are accepted.",
      },
      createdAt: { type: "string", format: "date-time", description: "When the key was created." },
      revokedAt: {
        type: ["string", "null"],
        format: "date-time",
        description: "When the key was revoked; `null`: it is active.",
      },
      replaces: {
        type: ["string", "null"],
        description: "The id of the key that this one was created to replace; `null`: none.",
      },
      lastUsedAt: {
        type: ["string", "null"],
        format: "date-time",
        description: "When the last request arrived; `null`: never used.",
      },
      lastUsedIp: {
        type: ["string", "null"],
        description:
          "The address of the last request; `null` if the key was never used or the address is unknown.",
      },
      addresses: { type: "integer", description: "The number of client addresses in the last 30 days." },
      requestsLastMinute: { type: "integer", description: "Requests in the last 60 seconds." },
      requestsLastHour: {
        type: "integer",
        description: "Requests in the present minute and the 60 before it.",
      },
      requestsLastDay: {
        type: "integer",
        description: "Requests in the present minute and the 1,440 before it.",
      },
      rotation: {
        anyOf: [{ $ref: "#/components/schemas/Rotation" }, { type: "null" }],
        description: "How far the successor has taken over; `null`: `rotate` has created none.",
      },
    },
  },
  "usage.performance": {
    type: "object",
    properties: {
      intervals: {
        type: "array",
        items: {
          type: "object",
          properties: {
            requests: { type: "integer", description: "The number of requests that reached an upstream." },
            errors: {
              type: "integer",
              description:
                "Those of them that failed: answered with a status of 400 or more, or aborted with an error code.",
            },
            latencyMs: {
              $ref: "#/components/schemas/Percentiles",
              description: "The time from the request to the end of the answer.",
            },
            timeToFirstTokenMs: {
              $ref: "#/components/schemas/Percentiles",
              description: "The time from the request to the first token, of streams.",
            },
            start: { type: "string", format: "date-time", description: "When the interval begins." },
          },
        },
        description: "One row per interval with requests, in order of time.",
      },
      upstreams: {
        type: "array",
        items: {
          type: "object",
          properties: {
            requests: { type: "integer", description: "The number of requests that reached an upstream." },
            errors: {
              type: "integer",
              description:
                "Those of them that failed: answered with a status of 400 or more, or aborted with an error code.",
            },
            latencyMs: {
              $ref: "#/components/schemas/Percentiles",
              description: "The time from the request to the end of the answer.",
            },
            timeToFirstTokenMs: {
              $ref: "#/components/schemas/Percentiles",
              description: "The time from the request to the first token, of streams.",
            },
            upstream: { type: "string", description: "The name of the upstream." },
          },
        },
        description: "One row per upstream, the one with most requests first.",
      },
      measuredSince: {
        type: ["string", "null"],
        format: "date-time",
        description:
          "When the oldest request that was measured came in, if the period has more than the newest 20,000 requests, which are measured; `null`: all were.",
      },
    },
  },
  "usage.summary": {
    type: "object",
    properties: {
      rows: {
        type: "array",
        items: {
          type: "object",
          properties: {
            start: { type: "string", format: "date-time", description: "When the interval begins." },
            model: {
              type: ["string", "null"],
              description:
                "The model; `null` unless rows are grouped by model. It is empty for requests that named none, and `unknown model` for all models that the catalog does not have.",
            },
            key: {
              anyOf: [
                {
                  type: "object",
                  properties: {
                    id: { type: "string", description: "The id of the key, a UUID." },
                    keyId: { type: "string", description: "Last 4 characters of the key string." },
                    name: { type: "string", description: "The name of the key." },
                  },
                },
                { type: "null" },
              ],
              description: "The key; `null` unless rows are grouped by key.",
            },
            isOther: {
              type: "boolean",
              description:
                "Whether the row sums up the models or keys without rows of their own. Neither is named then.",
            },
            requests: { type: "integer", description: "The number of requests, including refused ones." },
            errors: {
              type: "integer",
              description:
                "The requests that failed: answered with a status of 400 or more, or aborted with an error code.",
            },
            promptTokens: { type: "integer", description: "The tokens of the prompts." },
            completionTokens: { type: "integer", description: "The tokens of the answers." },
            cachedTokens: {
              type: "integer",
              description: "The part of the prompts' tokens that an upstream read from its cache.",
            },
            costNanoUsd: { type: "string", format: "bigint", description: "The cost in nano-USD." },
          },
        },
        description:
          "One row per interval and group, in order of time. Intervals without requests have none.",
      },
      total: {
        type: "object",
        properties: {
          requests: { type: "integer", description: "The number of requests, including refused ones." },
          errors: {
            type: "integer",
            description:
              "The requests that failed: answered with a status of 400 or more, or aborted with an error code.",
          },
          promptTokens: { type: "integer", description: "The tokens of the prompts." },
          completionTokens: { type: "integer", description: "The tokens of the answers." },
          cachedTokens: {
            type: "integer",
            description: "The part of the prompts' tokens that an upstream read from its cache.",
          },
          costNanoUsd: { type: "string", format: "bigint", description: "The cost in nano-USD." },
        },
        description: "The sums over all rows.",
      },
    },
  },
} as const;

/** The JSON Schemas of what several of them contain, by the names to which they refer. */
export const SHARED_SCHEMAS = {
  Limits: {
    type: "object",
    properties: {
      requestsPerMinute: { type: ["integer", "null"], description: "Requests in 60 seconds." },
      tokensPerMinute: {
        type: ["integer", "null"],
        description: "Tokens of prompts and answers in 60 seconds.",
      },
      concurrentRequests: {
        type: ["integer", "null"],
        description: "Requests that may be answered at the same time.",
      },
    },
  },
  ValueCount: {
    type: "object",
    properties: {
      value: { type: "string", description: "The value." },
      requests: { type: "integer", description: "The number of requests." },
    },
  },
  CreatedKey: {
    type: "object",
    properties: {
      id: { type: "string", description: "The id of the key, a UUID." },
      name: { type: "string", description: "The name of the key." },
      keyId: { type: "string", description: "Last 4 characters of the key string." },
      key: { type: "string", description: "The complete key string, which cannot be read again." },
      state: { type: "string", enum: ["active"], description: "A new key is active." },
      createdAt: { type: "string", format: "date-time", description: "When the key was created." },
      replaces: {
        type: ["string", "null"],
        description: "The id of the key that this one replaces; `null`: none.",
      },
    },
  },
  Rotation: {
    type: "object",
    properties: {
      successorId: { type: "string", description: "The id of the successor." },
      idleAfterSeconds: {
        type: "integer",
        description: "Seconds without a request after which the old key counts as idle.",
      },
      idleSince: {
        type: "string",
        format: "date-time",
        description:
          "Since when the old key has been unused: its last request, or the creation of the successor if that was later.",
      },
      isIdle: {
        type: "boolean",
        description:
          "Whether the old key has been unused for `idleAfterSeconds`. Revoking it remains the owner's decision.",
      },
    },
  },
  Percentiles: {
    type: "object",
    properties: {
      p50: {
        type: ["integer", "null"],
        description: "The median in milliseconds; `null`: no request has a value.",
      },
      p95: {
        type: ["integer", "null"],
        description: "The 95th percentile in milliseconds; `null`: no request has a value.",
      },
    },
  },
} as const;
