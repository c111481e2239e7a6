// Generated from the server's router by `npm run procedures`. Do not edit.

/**
 * The JSON Schemas of procedures' outputs, by the names of the procedures. A `Date` has the format `date-time`, and a bigint the
 * format `bigint`.
 */
export const ANSWER_SCHEMAS = {
  "account.get": {
    type: "object",
    required: [
      "id",
      "name",
      "plan",
      "state",
      "suspension",
      "ipRules",
      "limits",
      "createdAt",
      "auditRetentionDays",
      "keyLimit",
      "limitsInForce",
      "ipRulesInForce",
    ],
    properties: {
      id: { type: "string" },
      name: { type: "string" },
      plan: { type: "string", enum: ["enterprise", "free", "pro"] },
      state: { type: "string", enum: ["active", "suspended"] },
      suspension: {
        anyOf: [
          {
            type: "object",
            required: ["at", "reason"],
            properties: { at: { type: "string", format: "date-time" }, reason: { type: "string" } },
          },
          { type: "null" },
        ],
        description: "`null` while the account is active.",
      },
      ipRules: {
        type: "object",
        required: ["mode", "networks"],
        properties: {
          mode: {
            type: "string",
            enum: ["enforce", "report"],
            description:
              "`report`: requests from elsewhere pass, and their entries say that they would have been refused.",
          },
          networks: {
            type: "array",
            items: { type: "string" },
            description: "IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere.",
          },
        },
      },
      limits: {
        type: "object",
        required: ["requestsPerMinute", "tokensPerMinute", "concurrentRequests"],
        properties: {
          requestsPerMinute: { type: ["integer", "null"] },
          tokensPerMinute: { type: ["integer", "null"] },
          concurrentRequests: {
            type: ["integer", "null"],
            description: "Requests that are being answered at the same time.",
          },
        },
      },
      createdAt: { type: "string", format: "date-time" },
      auditRetentionDays: {
        type: ["integer", "null"],
        description: "`null`: audit entries are kept for ever.",
      },
      keyLimit: { type: ["integer", "null"] },
      limitsInForce: {
        type: "object",
        required: ["requestsPerMinute", "tokensPerMinute", "concurrentRequests"],
        properties: {
          requestsPerMinute: { type: ["integer", "null"] },
          tokensPerMinute: { type: ["integer", "null"] },
          concurrentRequests: {
            type: ["integer", "null"],
            description: "Requests that are being answered at the same time.",
          },
        },
        description: "The limits in force: the account's own, or those of its plan.",
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
    required: ["limits", "used"],
    properties: {
      limits: {
        type: "object",
        required: ["requestsPerMinute", "tokensPerMinute", "concurrentRequests"],
        properties: {
          requestsPerMinute: { type: ["integer", "null"] },
          tokensPerMinute: { type: ["integer", "null"] },
          concurrentRequests: {
            type: ["integer", "null"],
            description: "Requests that are being answered at the same time.",
          },
        },
      },
      used: {
        type: "object",
        required: ["requests", "tokens", "concurrent"],
        properties: {
          requests: { type: "integer", description: "In the last minute." },
          tokens: {
            type: "integer",
            description: "In the last minute; estimated, of requests that have not ended.",
          },
          concurrent: { type: "integer", description: "Being answered." },
        },
      },
    },
  },
  "account.tryAddress": {
    type: "object",
    required: ["verdict"],
    properties: { verdict: { type: "string", enum: ["blocked", "passes", "reported"] } },
  },
  "account.actions": {
    type: "object",
    required: ["actions", "nextCursor"],
    properties: {
      actions: {
        type: "array",
        items: {
          type: "object",
          required: ["at", "by", "action", "reason", "before", "after", "id", "userEmail", "byOperator"],
          properties: {
            at: { type: "string", format: "date-time" },
            by: {
              anyOf: [
                {
                  type: "object",
                  required: ["userId", "managementToken", "sourceIp"],
                  properties: {
                    userId: { type: "string" },
                    managementToken: { type: ["string", "null"], description: "`null` for a session." },
                    sourceIp: { type: ["string", "null"] },
                  },
                },
                { type: "null" },
              ],
              description: "`null`: the service itself.",
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
                "token.create",
                "token.revoke",
                "user.changePassword",
                "user.resetPassword",
                "user.signOutAll",
                "user.signUp",
              ],
            },
            reason: { type: ["string", "null"] },
            before: {
              anyOf: [{ type: "object", additionalProperties: {} }, { type: "null" }],
              description: "The parts that differ.",
            },
            after: { anyOf: [{ type: "object", additionalProperties: {} }, { type: "null" }] },
            id: { type: "string" },
            userEmail: { type: ["string", "null"] },
            byOperator: { type: "boolean" },
          },
        },
      },
      nextCursor: { type: ["string", "null"] },
    },
  },
  "account.exportActions": {
    type: "object",
    required: ["lines", "next"],
    properties: {
      lines: {
        type: "array",
        items: { type: "string" },
        description: "JSON, without line breaks, in the order of recording.",
      },
      next: { type: ["integer", "null"], description: "Pass it as `after` to continue; `null` at the end." },
    },
  },
  "account.verifyActions": {
    type: "object",
    required: ["head", "actions", "problems", "next"],
    properties: {
      head: {
        anyOf: [
          {
            type: "object",
            required: ["position", "digest"],
            properties: {
              position: { type: "integer", description: "From 1." },
              digest: { type: "string", description: "SHA-256, in hexadecimal." },
            },
          },
          { type: "null" },
        ],
        description: "The last action; `null`: none was recorded.",
      },
      actions: { type: "integer", description: "The number of actions that this call has verified." },
      problems: {
        type: "array",
        items: {
          type: "object",
          required: ["position", "problem"],
          properties: {
            position: {
              type: ["integer", "null"],
              description: "`null` for an action that is not in the chain.",
            },
            problem: {
              type: "string",
              enum: ["added", "changed", "digest_differs", "missing"],
              description:
                "`changed`: the action is not what was recorded. `missing`: there is no action at the position. `added`: an action is not in the chain. `digest_differs`: the chain does not contain the expected point.",
            },
          },
        },
        description: "The first 100.",
      },
      next: {
        type: ["integer", "null"],
        description: "Pass it as `after` to verify the rest; `null`: everything is verified.",
      },
    },
  },
  "keys.list": {
    type: "object",
    required: ["keys", "nextCursor"],
    properties: {
      keys: {
        type: "array",
        items: {
          type: "object",
          required: [
            "usage",
            "rotation",
            "id",
            "name",
            "keyId",
            "state",
            "createdAt",
            "revokedAt",
            "replaces",
          ],
          properties: {
            usage: {
              type: "object",
              required: [
                "lastUsedAt",
                "lastUsedIp",
                "addresses",
                "requestsLastMinute",
                "requestsLastHour",
                "requestsLastDay",
              ],
              properties: {
                lastUsedAt: { type: ["string", "null"], format: "date-time" },
                lastUsedIp: {
                  type: ["string", "null"],
                  description: "Where the last request came from; `null` also when that address is unknown.",
                },
                addresses: {
                  type: "integer",
                  description: "The number of client addresses in the last 30 days.",
                },
                requestsLastMinute: { type: "integer", description: "Exactly the last 60 seconds." },
                requestsLastHour: {
                  type: "integer",
                  description: "Whole minutes: the present one and the 60 before it.",
                },
                requestsLastDay: {
                  type: "integer",
                  description: "Whole minutes: the present one and the 1,440 before it.",
                },
              },
            },
            rotation: {
              anyOf: [
                {
                  type: "object",
                  required: ["successorId", "idleAfterSeconds", "idleSince", "isIdle"],
                  properties: {
                    successorId: { type: "string" },
                    idleAfterSeconds: {
                      type: "integer",
                      description: "For how long the old key has to be unused.",
                    },
                    idleSince: {
                      type: "string",
                      format: "date-time",
                      description:
                        "Since when it has been unused: its last request, or the successor's creation if that was later.",
                    },
                    isIdle: { type: "boolean", description: "True when it has been unused for long enough." },
                  },
                },
                { type: "null" },
              ],
              description: "Set once a successor was made by `rotate`.",
            },
            id: { type: "string" },
            name: { type: "string" },
            keyId: { type: "string", description: "Last 4 characters of the key string." },
            state: { type: "string", enum: ["active", "revoked"] },
            createdAt: { type: "string", format: "date-time" },
            revokedAt: { type: ["string", "null"], format: "date-time" },
            replaces: {
              type: ["string", "null"],
              description: "The key that this one was created to take over from.",
            },
          },
        },
      },
      nextCursor: { type: ["string", "null"] },
    },
  },
  "keys.usage": {
    type: "object",
    required: [
      "id",
      "name",
      "keyId",
      "state",
      "lastUsedAt",
      "lastUsedIp",
      "addresses",
      "requestsLastMinute",
      "requestsLastHour",
      "requestsLastDay",
      "rotation",
    ],
    properties: {
      id: { type: "string" },
      name: { type: "string" },
      keyId: { type: "string", description: "Last 4 characters of the key string." },
      state: { type: "string", enum: ["active", "revoked"] },
      lastUsedAt: { type: ["string", "null"], format: "date-time" },
      lastUsedIp: {
        type: ["string", "null"],
        description: "Where the last request came from; `null` also when that address is unknown.",
      },
      addresses: { type: "integer", description: "The number of client addresses in the last 30 days." },
      requestsLastMinute: { type: "integer", description: "Exactly the last 60 seconds." },
      requestsLastHour: {
        type: "integer",
        description: "Whole minutes: the present one and the 60 before it.",
      },
      requestsLastDay: {
        type: "integer",
        description: "Whole minutes: the present one and the 1,440 before it.",
      },
      rotation: {
        anyOf: [
          {
            type: "object",
            required: ["successorId", "idleAfterSeconds", "idleSince", "isIdle"],
            properties: {
              successorId: { type: "string" },
              idleAfterSeconds: {
                type: "integer",
                description: "For how long the old key has to be unused.",
              },
              idleSince: {
                type: "string",
                format: "date-time",
                description:
                  "Since when it has been unused: its last request, or the successor's creation if that was later.",
              },
              isIdle: { type: "boolean", description: "True when it has been unused for long enough." },
            },
          },
          { type: "null" },
        ],
        description: "Set once a successor was made by `rotate`.",
      },
    },
  },
  "keys.create": {
    type: "object",
    required: ["id", "name", "keyId", "key", "state", "createdAt", "replaces"],
    properties: {
      id: { type: "string" },
      name: { type: "string" },
      keyId: { type: "string" },
      key: { type: "string", description: "The complete key string, which cannot be read again." },
      state: { type: "string", enum: ["active"] },
      createdAt: { type: "string", format: "date-time" },
      replaces: { type: ["string", "null"], description: "The key that this one replaces." },
    },
  },
  "keys.rotate": {
    type: "object",
    required: ["id", "name", "keyId", "key", "state", "createdAt", "replaces"],
    properties: {
      id: { type: "string" },
      name: { type: "string" },
      keyId: { type: "string" },
      key: { type: "string", description: "The complete key string, which cannot be read again." },
      state: { type: "string", enum: ["active"] },
      createdAt: { type: "string", format: "date-time" },
      replaces: { type: ["string", "null"], description: "The key that this one replaces." },
    },
  },
  "keys.revoke": {
    type: "object",
    required: ["id", "name", "keyId", "state", "createdAt", "revokedAt", "replaces"],
    properties: {
      id: { type: "string" },
      name: { type: "string" },
      keyId: { type: "string", description: "Last 4 characters of the key string." },
      state: { type: "string", enum: ["active", "revoked"] },
      createdAt: { type: "string", format: "date-time" },
      revokedAt: { type: ["string", "null"], format: "date-time" },
      replaces: {
        type: ["string", "null"],
        description: "The key that this one was created to take over from.",
      },
    },
  },
  "usage.summary": {
    type: "object",
    required: ["rows", "total"],
    properties: {
      rows: {
        type: "array",
        items: {
          type: "object",
          required: [
            "start",
            "model",
            "key",
            "isOther",
            "requests",
            "errors",
            "promptTokens",
            "completionTokens",
            "cachedTokens",
            "costNanoUsd",
          ],
          properties: {
            start: { type: "string", format: "date-time", description: "When the interval begins, in UTC." },
            model: {
              type: ["string", "null"],
              description:
                "`null` unless grouped by it; the empty model for requests that named none, `unknown model` for all that the catalog lacks.",
            },
            key: {
              anyOf: [
                {
                  type: "object",
                  required: ["id", "keyId", "name"],
                  properties: { id: { type: "string" }, keyId: { type: "string" }, name: { type: "string" } },
                },
                { type: "null" },
              ],
              description: "`null` unless grouped by it.",
            },
            isOther: {
              type: "boolean",
              description:
                "Whether the row sums up the models or keys without rows of their own. Neither is named then.",
            },
            requests: { type: "integer" },
            errors: { type: "integer", description: "The requests answered with a status of 400 or more." },
            promptTokens: { type: "integer" },
            completionTokens: { type: "integer" },
            cachedTokens: {
              type: "integer",
              description: "The part of the prompts' tokens that an upstream read from its cache.",
            },
            costNanoUsd: { type: "string", format: "bigint" },
          },
        },
      },
      total: {
        type: "object",
        required: ["requests", "errors", "promptTokens", "completionTokens", "cachedTokens", "costNanoUsd"],
        properties: {
          requests: { type: "integer" },
          errors: { type: "integer", description: "The requests answered with a status of 400 or more." },
          promptTokens: { type: "integer" },
          completionTokens: { type: "integer" },
          cachedTokens: {
            type: "integer",
            description: "The part of the prompts' tokens that an upstream read from its cache.",
          },
          costNanoUsd: { type: "string", format: "bigint" },
        },
      },
    },
  },
  "credits.balance": {
    type: "object",
    required: ["balanceNanoUsd", "reservedNanoUsd"],
    properties: {
      balanceNanoUsd: { type: "string", format: "bigint" },
      reservedNanoUsd: {
        type: "string",
        format: "bigint",
        description: "The part of it that nodes have reserved.",
      },
    },
  },
  "credits.ledger": {
    type: "object",
    required: ["entries", "nextCursor"],
    properties: {
      entries: {
        type: "array",
        items: {
          type: "object",
          required: ["id", "at", "kind", "amountNanoUsd", "reason"],
          properties: {
            id: { type: "string" },
            at: { type: "string", format: "date-time" },
            kind: {
              type: "string",
              enum: ["adjustment", "charge", "grant", "uncollected"],
              description:
                "A charge covers many requests, whose entries are in the audit log. It is written in full. What the account did not pay of it is a separate `uncollected` entry with the reason of an `Uncollected`.",
            },
            amountNanoUsd: { type: "string", format: "bigint", description: "Negative for charges." },
            reason: { type: "string" },
          },
        },
      },
      nextCursor: { type: ["string", "null"] },
    },
  },
} as const;
