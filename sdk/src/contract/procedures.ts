// Generated from the server's router by `npm run procedures`. Do not edit.

/**
 * The procedures of the management API: the kind, input and output of each. Fields of an input that accept `undefined` may be
 * omitted. An input of `undefined` means that the procedure takes none.
 */
export interface Procedures {
  readonly service: {
    /** What the dashboard needs before sign-in. */
    readonly info: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        /** The operator's own name for the service. */
        readonly serviceName: string;
        /** Scheme, host and port that clients use. */
        readonly publicUrl: string;
        readonly signUp: "closed" | "open";
      };
    };
  };
  readonly auth: {
    /** Creates an account with its first user. The cookie of the answer signs them in. */
    readonly signUp: {
      readonly kind: "mutation";
      readonly input: {
        readonly email: string;
        readonly password: string;
        readonly accountName: string;
      };
      readonly output:
        | {
            readonly user: {
              readonly id: string;
              readonly email: string;
              readonly role: "operator" | "owner";
            };
            readonly account: null;
          }
        | {
            readonly user: {
              readonly id: string;
              readonly email: string;
              readonly role: "operator" | "owner";
            };
            readonly account: {
              readonly id: string;
              readonly name: string;
              readonly plan: "enterprise" | "free" | "pro";
              readonly state: "active" | "suspended";
            };
          };
    };
    readonly signIn: {
      readonly kind: "mutation";
      readonly input: {
        readonly email: string;
        readonly password: string;
      };
      readonly output:
        | {
            readonly user: {
              readonly id: string;
              readonly email: string;
              readonly role: "operator" | "owner";
            };
            readonly account: null;
          }
        | {
            readonly user: {
              readonly id: string;
              readonly email: string;
              readonly role: "operator" | "owner";
            };
            readonly account: {
              readonly id: string;
              readonly name: string;
              readonly plan: "enterprise" | "free" | "pro";
              readonly state: "active" | "suspended";
            };
          };
    };
    readonly signOut: { readonly kind: "mutation"; readonly input: undefined; readonly output: undefined };
    /** The signed-in user; `null` without one. */
    readonly me: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output:
        | {
            readonly user: {
              readonly id: string;
              readonly email: string;
              readonly role: "operator" | "owner";
            };
            readonly account: null;
          }
        | {
            readonly user: {
              readonly id: string;
              readonly email: string;
              readonly role: "operator" | "owner";
            };
            readonly account: {
              readonly id: string;
              readonly name: string;
              readonly plan: "enterprise" | "free" | "pro";
              readonly state: "active" | "suspended";
            };
          }
        | null;
    };
    /** The user's sessions, last seen first. */
    readonly sessions: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly sessions: readonly {
          /** `null` when a trusted proxy sent an address that can't be parsed. */
          readonly sourceIp: string | null;
          readonly userAgent: string | null;
          readonly id: string;
          readonly createdAt: Date;
          /** To the minute. */
          readonly lastSeenAt: Date;
          readonly expiresAt: Date;
          readonly isCurrent: boolean;
        }[];
      };
    };
    /** Ends one session. */
    readonly endSession: {
      readonly kind: "mutation";
      readonly input: {
        readonly id: string;
      };
      readonly output: undefined;
    };
    /** Ends all sessions of the user, including the current one. */
    readonly signOutAll: { readonly kind: "mutation"; readonly input: undefined; readonly output: undefined };
    /** Ends every session of the user and starts a new one. `revokeTokens` also revokes their management tokens. */
    readonly changePassword: {
      readonly kind: "mutation";
      readonly input: {
        readonly current: string;
        readonly next: string;
        readonly revokeTokens?: boolean | undefined;
      };
      readonly output: undefined;
    };
  };
  readonly account: {
    readonly get: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly id: string;
        readonly name: string;
        readonly plan: "enterprise" | "free" | "pro";
        readonly state: "active" | "suspended";
        /** `null` while the account is active. */
        readonly suspension: {
          readonly at: Date;
          readonly reason: string;
        } | null;
        readonly ipRules: {
          /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
          readonly mode: "enforce" | "report";
          /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
          readonly networks: readonly string[];
        };
        readonly limits: {
          readonly requestsPerMinute: number | null;
          readonly tokensPerMinute: number | null;
          /** Requests that are being answered at the same time. */
          readonly concurrentRequests: number | null;
        };
        readonly createdAt: Date;
        /** `null`: audit entries are kept for ever. */
        readonly auditRetentionDays: number | null;
        readonly keyLimit: number | null;
        /** The limits in force: the account's own, or those of its plan. */
        readonly limitsInForce: {
          readonly requestsPerMinute: number | null;
          readonly tokensPerMinute: number | null;
          /** Requests that are being answered at the same time. */
          readonly concurrentRequests: number | null;
        };
        /** Whether the IP rules are in force. An account that left the enterprise plan keeps its rules without effect. */
        readonly ipRulesInForce: boolean;
      };
    };
    /** The limits in force (`null`: none) and their present use. Without a limit nothing is counted. */
    readonly limits: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly limits: {
          readonly requestsPerMinute: number | null;
          readonly tokensPerMinute: number | null;
          /** Requests that are being answered at the same time. */
          readonly concurrentRequests: number | null;
        };
        readonly used: {
          /** In the last minute. */
          readonly requests: number;
          /** In the last minute; estimated, of requests that have not ended. */
          readonly tokens: number;
          /** Being answered. */
          readonly concurrent: number;
        };
      };
    };
    /** Whether a request from an address would pass the account's IP rules. */
    readonly tryAddress: {
      readonly kind: "query";
      readonly input: {
        readonly address: string;
      };
      readonly output: {
        readonly verdict: "blocked" | "passes" | "reported";
      };
    };
    /** The audit trail of the account, newest first. It does not name operators. */
    readonly actions: {
      readonly kind: "query";
      readonly input:
        | {
            readonly cursor?: string | undefined;
            readonly direction?: "forward" | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
      readonly output: {
        readonly actions: readonly {
          readonly at: Date;
          /** `null`: the service itself. */
          readonly by: {
            readonly userId: string;
            /** `null` for a session. */
            readonly managementToken: string | null;
            readonly sourceIp: string | null;
          } | null;
          readonly action:
            | "account.create"
            | "account.grantCredits"
            | "account.reinstate"
            | "account.setIpRules"
            | "account.setLimits"
            | "account.setPlan"
            | "account.suspend"
            | "credit.release"
            | "journal.discard"
            | "journal.replay"
            | "key.create"
            | "key.reissue"
            | "key.revoke"
            | "key.rotate"
            | "token.create"
            | "token.revoke"
            | "user.changePassword"
            | "user.resetPassword"
            | "user.signOutAll"
            | "user.signUp";
          readonly reason: string | null;
          /** The parts that differ. */
          readonly before: {
            readonly [name: string]: unknown;
          } | null;
          readonly after: {
            readonly [name: string]: unknown;
          } | null;
          readonly id: string;
          readonly userEmail: string | null;
          readonly byOperator: boolean;
        }[];
        readonly nextCursor: string | null;
      };
    };
    /** The audit trail of the account as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    readonly exportActions: {
      readonly kind: "query";
      readonly input:
        | {
            readonly after?: number | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
      readonly output: {
        /** JSON, without line breaks, in the order of recording. */
        readonly lines: readonly string[];
        /** Pass it as `after` to continue; `null` at the end. */
        readonly next: number | null;
      };
    };
    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    readonly verifyActions: {
      readonly kind: "query";
      readonly input:
        | {
            readonly after?: number | undefined;
            readonly expected?:
              | {
                  readonly position: number;
                  readonly digest: string;
                }
              | undefined;
          }
        | undefined;
      readonly output: {
        /** The last action; `null`: none was recorded. */
        readonly head: {
          /** From 1. */
          readonly position: number;
          /** SHA-256, in hexadecimal. */
          readonly digest: string;
        } | null;
        /** The number of actions that this call has verified. */
        readonly actions: number;
        /** The first 100. */
        readonly problems: readonly {
          /** `null` for an action that is not in the chain. */
          readonly position: number | null;
          /**
           * `changed`: the action is not what was recorded. `missing`: there is no action at the position. `added`: an action is not in the
           * chain. `digest_differs`: the chain does not contain the expected point.
           */
          readonly problem: "added" | "changed" | "digest_differs" | "missing";
        }[];
        /** Pass it as `after` to verify the rest; `null`: everything is verified. */
        readonly next: number | null;
      };
    };
  };
  readonly keys: {
    /**
     * Keys with their usage: active keys first, each state's newest first, at most 1,000. Pass `nextCursor` as `cursor` to read
     * the next page.
     */
    readonly list: {
      readonly kind: "query";
      readonly input:
        | {
            readonly cursor?: string | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
      readonly output: {
        readonly keys: readonly {
          readonly usage: {
            readonly lastUsedAt: Date | null;
            /** Where the last request came from; `null` also when that address is unknown. */
            readonly lastUsedIp: string | null;
            /** The number of client addresses in the last 30 days. */
            readonly addresses: number;
            /** Exactly the last 60 seconds. */
            readonly requestsLastMinute: number;
            /** Whole minutes: the present one and the 60 before it. */
            readonly requestsLastHour: number;
            /** Whole minutes: the present one and the 1,440 before it. */
            readonly requestsLastDay: number;
          };
          /** Set once a successor was made by `rotate`. */
          readonly rotation: {
            readonly successorId: string;
            /** For how long the old key has to be unused. */
            readonly idleAfterSeconds: number;
            /** Since when it has been unused: its last request, or the successor's creation if that was later. */
            readonly idleSince: Date;
            /** True when it has been unused for long enough. */
            readonly isIdle: boolean;
          } | null;
          readonly id: string;
          readonly name: string;
          /** Last 4 characters of the key string. */
          readonly keyId: string;
          readonly state: "active" | "revoked";
          readonly createdAt: Date;
          readonly revokedAt: Date | null;
          /** The key that this one was created to take over from. */
          readonly replaces: string | null;
        }[];
        readonly nextCursor: string | null;
      };
    };
    /** The present usage of a key, and how far its successor has taken over. */
    readonly usage: {
      readonly kind: "query";
      readonly input: {
        readonly id: string;
      };
      readonly output: {
        readonly id: string;
        readonly name: string;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        readonly state: "active" | "revoked";
        readonly lastUsedAt: Date | null;
        /** Where the last request came from; `null` also when that address is unknown. */
        readonly lastUsedIp: string | null;
        /** The number of client addresses in the last 30 days. */
        readonly addresses: number;
        /** Exactly the last 60 seconds. */
        readonly requestsLastMinute: number;
        /** Whole minutes: the present one and the 60 before it. */
        readonly requestsLastHour: number;
        /** Whole minutes: the present one and the 1,440 before it. */
        readonly requestsLastDay: number;
        /** Set once a successor was made by `rotate`. */
        readonly rotation: {
          readonly successorId: string;
          /** For how long the old key has to be unused. */
          readonly idleAfterSeconds: number;
          /** Since when it has been unused: its last request, or the successor's creation if that was later. */
          readonly idleSince: Date;
          /** True when it has been unused for long enough. */
          readonly isIdle: boolean;
        } | null;
      };
    };
    /** The only answer, beside that of `rotate`, that ever holds the key string. */
    readonly create: {
      readonly kind: "mutation";
      readonly input: {
        readonly name: string;
        readonly idempotencyKey?: string | undefined;
      };
      readonly output: {
        readonly id: string;
        readonly name: string;
        readonly keyId: string;
        /** The complete key string, which cannot be read again. */
        readonly key: string;
        readonly state: "active";
        readonly createdAt: Date;
        /** The key that this one replaces. */
        readonly replaces: string | null;
      };
    };
    /** Creates a successor. The old key works until it is revoked; `usage` reports when it is idle. */
    readonly rotate: {
      readonly kind: "mutation";
      readonly input: {
        readonly id: string;
        readonly name?: string | undefined;
        readonly idleAfterSeconds?: number | undefined;
        readonly idempotencyKey?: string | undefined;
      };
      readonly output: {
        readonly id: string;
        readonly name: string;
        readonly keyId: string;
        /** The complete key string, which cannot be read again. */
        readonly key: string;
        readonly state: "active";
        readonly createdAt: Date;
        /** The key that this one replaces. */
        readonly replaces: string | null;
      };
    };
    /** When this has answered, no node admits the key. */
    readonly revoke: {
      readonly kind: "mutation";
      readonly input: {
        readonly id: string;
      };
      readonly output: {
        readonly id: string;
        readonly name: string;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        readonly state: "active" | "revoked";
        readonly createdAt: Date;
        readonly revokedAt: Date | null;
        /** The key that this one was created to take over from. */
        readonly replaces: string | null;
      };
    };
  };
  readonly tokens: {
    readonly list: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly tokens: readonly {
          readonly id: string;
          readonly name: string;
          /** Last 4 characters of the token. */
          readonly tokenId: string;
          readonly createdAt: Date;
          readonly expiresAt: Date | null;
          readonly revokedAt: Date | null;
          readonly lastUsedAt: Date | null;
          readonly lastUsedIp: string | null;
        }[];
      };
    };
    /** The only answer that ever holds the token. */
    readonly create: {
      readonly kind: "mutation";
      readonly input: {
        readonly name: string;
        readonly expiresInDays?: number | undefined;
      };
      readonly output: {
        readonly id: string;
        readonly name: string;
        readonly tokenId: string;
        /** The complete token, which cannot be read again. */
        readonly token: string;
        readonly createdAt: Date;
        readonly expiresAt: Date | null;
      };
    };
    /** Once this has answered, the token is refused. */
    readonly revoke: {
      readonly kind: "mutation";
      readonly input: {
        readonly id: string;
      };
      readonly output: {
        readonly id: string;
        readonly name: string;
        /** Last 4 characters of the token. */
        readonly tokenId: string;
        readonly createdAt: Date;
        readonly expiresAt: Date | null;
        readonly revokedAt: Date | null;
        readonly lastUsedAt: Date | null;
        readonly lastUsedIp: string | null;
      };
    };
  };
  readonly audit: {
    readonly list: {
      readonly kind: "query";
      readonly input:
        | {
            readonly from?: string | Date | undefined;
            readonly to?: string | Date | undefined;
            readonly key?: string | undefined;
            readonly model?: string | undefined;
            readonly status?: string | undefined;
            readonly error_code?: string | undefined;
            readonly source?: string | undefined;
            readonly cursor?: string | undefined;
            readonly direction?: "forward" | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
      readonly output: {
        readonly entries: readonly {
          readonly keyName: string;
          readonly requestId: string;
          readonly timestamp: Date;
          readonly tokenCount: number | null;
          readonly cachedTokens: number | null;
          readonly completionTokens: number | null;
          readonly costNanoUsd: bigint;
          readonly endReason:
            | "client_gone"
            | "node_lost"
            | "refused"
            | "shutdown"
            | "stop"
            | "timeout"
            | "upstream_error";
          readonly endpoint: string;
          readonly errorCode:
            | "account_suspended"
            | "conflict"
            | "context_length_exceeded"
            | "credit_balance_exhausted"
            | "expectation_failed"
            | "headers_too_large"
            | "idempotency_key_in_use"
            | "idempotency_key_reused"
            | "idempotent_answer_gone"
            | "internal_error"
            | "invalid_api_key"
            | "invalid_json"
            | "invalid_management_token"
            | "invalid_request"
            | "ip_blocked"
            | "key_limit_reached"
            | "method_not_allowed"
            | "model_not_found"
            | "not_found"
            | "not_signed_in"
            | "permission_denied"
            | "rate_limit_exceeded"
            | "request_timeout"
            | "request_too_large"
            | "revoked_api_key"
            | "server_is_overloaded"
            | "too_many_concurrent_requests"
            | "unsupported_media_type"
            | "upstream_error"
            | "upstream_timeout"
            | "wrong_credentials"
            | null;
          readonly id: string;
          readonly keyId: string;
          readonly latencyMs: number;
          readonly model: string | null;
          readonly promptTokens: number | null;
          readonly sourceIp: string | null;
          readonly status: number;
          readonly timeToFirstTokenMs: number | null;
          readonly upstream: string | null;
          readonly usageSource: "estimated" | "none" | "upstream";
          readonly wouldRefuse:
            | "account_suspended"
            | "conflict"
            | "context_length_exceeded"
            | "credit_balance_exhausted"
            | "expectation_failed"
            | "headers_too_large"
            | "idempotency_key_in_use"
            | "idempotency_key_reused"
            | "idempotent_answer_gone"
            | "internal_error"
            | "invalid_api_key"
            | "invalid_json"
            | "invalid_management_token"
            | "invalid_request"
            | "ip_blocked"
            | "key_limit_reached"
            | "method_not_allowed"
            | "model_not_found"
            | "not_found"
            | "not_signed_in"
            | "permission_denied"
            | "rate_limit_exceeded"
            | "request_timeout"
            | "request_too_large"
            | "revoked_api_key"
            | "server_is_overloaded"
            | "too_many_concurrent_requests"
            | "unsupported_media_type"
            | "upstream_error"
            | "upstream_timeout"
            | "wrong_credentials"
            | null;
        }[];
        readonly nextCursor: string | null;
      };
    };
    /** The entry of one request. */
    readonly get: {
      readonly kind: "query";
      readonly input: {
        readonly requestId: string;
      };
      readonly output: {
        readonly keyName: string;
        readonly requestId: string;
        readonly timestamp: Date;
        readonly tokenCount: number | null;
        readonly cachedTokens: number | null;
        readonly completionTokens: number | null;
        readonly costNanoUsd: bigint;
        readonly endReason:
          | "client_gone"
          | "node_lost"
          | "refused"
          | "shutdown"
          | "stop"
          | "timeout"
          | "upstream_error";
        readonly endpoint: string;
        readonly errorCode:
          | "account_suspended"
          | "conflict"
          | "context_length_exceeded"
          | "credit_balance_exhausted"
          | "expectation_failed"
          | "headers_too_large"
          | "idempotency_key_in_use"
          | "idempotency_key_reused"
          | "idempotent_answer_gone"
          | "internal_error"
          | "invalid_api_key"
          | "invalid_json"
          | "invalid_management_token"
          | "invalid_request"
          | "ip_blocked"
          | "key_limit_reached"
          | "method_not_allowed"
          | "model_not_found"
          | "not_found"
          | "not_signed_in"
          | "permission_denied"
          | "rate_limit_exceeded"
          | "request_timeout"
          | "request_too_large"
          | "revoked_api_key"
          | "server_is_overloaded"
          | "too_many_concurrent_requests"
          | "unsupported_media_type"
          | "upstream_error"
          | "upstream_timeout"
          | "wrong_credentials"
          | null;
        readonly id: string;
        readonly keyId: string;
        readonly latencyMs: number;
        readonly model: string | null;
        readonly promptTokens: number | null;
        readonly sourceIp: string | null;
        readonly status: number;
        readonly timeToFirstTokenMs: number | null;
        readonly upstream: string | null;
        readonly usageSource: "estimated" | "none" | "upstream";
        readonly wouldRefuse:
          | "account_suspended"
          | "conflict"
          | "context_length_exceeded"
          | "credit_balance_exhausted"
          | "expectation_failed"
          | "headers_too_large"
          | "idempotency_key_in_use"
          | "idempotency_key_reused"
          | "idempotent_answer_gone"
          | "internal_error"
          | "invalid_api_key"
          | "invalid_json"
          | "invalid_management_token"
          | "invalid_request"
          | "ip_blocked"
          | "key_limit_reached"
          | "method_not_allowed"
          | "model_not_found"
          | "not_found"
          | "not_signed_in"
          | "permission_denied"
          | "rate_limit_exceeded"
          | "request_timeout"
          | "request_too_large"
          | "revoked_api_key"
          | "server_is_overloaded"
          | "too_many_concurrent_requests"
          | "unsupported_media_type"
          | "upstream_error"
          | "upstream_timeout"
          | "wrong_credentials"
          | null;
      };
    };
    /**
     * Entries that are recorded from now on, or after `lastEventId`: at most some hundred at a time; `skipped` counts the
     * others. Ends when the caller may no longer read the account.
     */
    readonly tail: {
      readonly kind: "subscription";
      readonly input:
        | {
            readonly from?: string | Date | undefined;
            readonly to?: string | Date | undefined;
            readonly key?: string | undefined;
            readonly model?: string | undefined;
            readonly status?: string | undefined;
            readonly error_code?: string | undefined;
            readonly source?: string | undefined;
            readonly lastEventId?: string | undefined;
          }
        | undefined;
      readonly output: {
        /**
         * The event's id, which the client sends back as `lastEventId` when it
         * reconnects.
         */
        readonly id: string;
        /** The event's data. */
        readonly data: {
          readonly entries: readonly {
            readonly keyName: string;
            readonly requestId: string;
            readonly timestamp: Date;
            readonly tokenCount: number | null;
            readonly cachedTokens: number | null;
            readonly completionTokens: number | null;
            readonly costNanoUsd: bigint;
            readonly endReason:
              | "client_gone"
              | "node_lost"
              | "refused"
              | "shutdown"
              | "stop"
              | "timeout"
              | "upstream_error";
            readonly endpoint: string;
            readonly errorCode:
              | "account_suspended"
              | "conflict"
              | "context_length_exceeded"
              | "credit_balance_exhausted"
              | "expectation_failed"
              | "headers_too_large"
              | "idempotency_key_in_use"
              | "idempotency_key_reused"
              | "idempotent_answer_gone"
              | "internal_error"
              | "invalid_api_key"
              | "invalid_json"
              | "invalid_management_token"
              | "invalid_request"
              | "ip_blocked"
              | "key_limit_reached"
              | "method_not_allowed"
              | "model_not_found"
              | "not_found"
              | "not_signed_in"
              | "permission_denied"
              | "rate_limit_exceeded"
              | "request_timeout"
              | "request_too_large"
              | "revoked_api_key"
              | "server_is_overloaded"
              | "too_many_concurrent_requests"
              | "unsupported_media_type"
              | "upstream_error"
              | "upstream_timeout"
              | "wrong_credentials"
              | null;
            readonly id: string;
            readonly keyId: string;
            readonly latencyMs: number;
            readonly model: string | null;
            readonly promptTokens: number | null;
            readonly sourceIp: string | null;
            readonly status: number;
            readonly timeToFirstTokenMs: number | null;
            readonly upstream: string | null;
            readonly usageSource: "estimated" | "none" | "upstream";
            readonly wouldRefuse:
              | "account_suspended"
              | "conflict"
              | "context_length_exceeded"
              | "credit_balance_exhausted"
              | "expectation_failed"
              | "headers_too_large"
              | "idempotency_key_in_use"
              | "idempotency_key_reused"
              | "idempotent_answer_gone"
              | "internal_error"
              | "invalid_api_key"
              | "invalid_json"
              | "invalid_management_token"
              | "invalid_request"
              | "ip_blocked"
              | "key_limit_reached"
              | "method_not_allowed"
              | "model_not_found"
              | "not_found"
              | "not_signed_in"
              | "permission_denied"
              | "rate_limit_exceeded"
              | "request_timeout"
              | "request_too_large"
              | "revoked_api_key"
              | "server_is_overloaded"
              | "too_many_concurrent_requests"
              | "unsupported_media_type"
              | "upstream_error"
              | "upstream_timeout"
              | "wrong_credentials"
              | null;
          }[];
          readonly skipped: number;
          readonly hasGap: boolean;
        };
      };
    };
    /**
     * Detects entries that were changed, removed or added after they were recorded. A call covers some hundred thousand;
     * pass `next` as `after` to continue.
     */
    readonly verify: {
      readonly kind: "query";
      readonly input:
        | {
            readonly after?: number | undefined;
            readonly expected?:
              | {
                  readonly batch: number;
                  readonly digest: string;
                }
              | undefined;
          }
        | undefined;
      readonly output: {
        /** The last batch; `null`: nothing has been recorded. */
        readonly head: {
          /** Counted from 1. */
          readonly batch: number;
          /** SHA-256, in hexadecimal. */
          readonly digest: string;
        } | null;
        /** Batches up to this one were deleted at the end of the plan's retention. */
        readonly removedBatches: number;
        /** The number of batches that this call has verified. */
        readonly batches: number;
        readonly entries: number;
        readonly problems: readonly {
          readonly batch: number;
          /**
           * `changed`: its entries differ from those that were recorded. `entries_missing`, `entries_added`: their number differs too.
           * `batch_missing`: the batch itself is missing. `digest_differs`: the chain does not contain the expected point.
           */
          readonly problem:
            | "batch_missing"
            | "changed"
            | "digest_differs"
            | "entries_added"
            | "entries_missing";
          readonly recordedEntries: number | null;
          readonly foundEntries: number;
        }[];
        /** Pass it as `after` to verify the rest; `null`: everything is verified. */
        readonly next: number | null;
      };
    };
  };
  readonly usage: {
    /**
     * Requests, errors, tokens and cost, in intervals of UTC, always equal to the sums of the entries. Intervals that the period
     * covers in part are included as a whole.
     */
    readonly summary: {
      readonly kind: "query";
      readonly input: {
        readonly from: string | Date;
        readonly to: string | Date;
        readonly interval: "day" | "hour" | "month";
        readonly groupBy?: "key" | "model" | "none" | undefined;
      };
      readonly output: {
        readonly rows: readonly {
          /** When the interval begins, in UTC. */
          readonly start: Date;
          /** `null` unless grouped by it; the empty model for requests that named none, `unknown model` for all that the catalog lacks. */
          readonly model: string | null;
          /** `null` unless grouped by it. */
          readonly key: {
            readonly id: string;
            readonly keyId: string;
            readonly name: string;
          } | null;
          /** Whether the row sums up the models or keys without rows of their own. Neither is named then. */
          readonly isOther: boolean;
          readonly requests: number;
          /** The requests answered with a status of 400 or more. */
          readonly errors: number;
          readonly promptTokens: number;
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          readonly costNanoUsd: bigint;
        }[];
        readonly total: {
          readonly requests: number;
          /** The requests answered with a status of 400 or more. */
          readonly errors: number;
          readonly promptTokens: number;
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          readonly costNanoUsd: bigint;
        };
      };
    };
  };
  readonly credits: {
    readonly balance: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly balanceNanoUsd: bigint;
        /** The part of it that nodes have reserved. */
        readonly reservedNanoUsd: bigint;
      };
    };
    /** The transactions of the account, newest first. */
    readonly ledger: {
      readonly kind: "query";
      readonly input:
        | {
            readonly cursor?: string | undefined;
            readonly direction?: "forward" | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
      readonly output: {
        readonly entries: readonly {
          readonly id: string;
          readonly at: Date;
          /**
           * A charge covers many requests, whose entries are in the audit log. It is written in full. What the account did not pay
           * of it is a separate `uncollected` entry with the reason of an `Uncollected`.
           */
          readonly kind: "adjustment" | "charge" | "grant" | "uncollected";
          /** Negative for charges. */
          readonly amountNanoUsd: bigint;
          readonly reason: string;
        }[];
        readonly nextCursor: string | null;
      };
    };
  };
  readonly operator: {
    /** Dangerous settings that this node was started with: a sentence or two each. */
    readonly warnings: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly warnings: readonly string[];
      };
    };
    readonly accounts: {
      /** Newest first; `search` is the beginning of a name or of a user's e-mail address, or an id. */
      readonly list: {
        readonly kind: "query";
        readonly input:
          | {
              readonly cursor?: string | undefined;
              readonly direction?: "forward" | undefined;
              readonly limit?: number | undefined;
              readonly search?: string | undefined;
              readonly state?: "active" | "suspended" | undefined;
              readonly plan?: "enterprise" | "free" | "pro" | undefined;
            }
          | undefined;
        readonly output: {
          readonly accounts: readonly {
            readonly users: readonly {
              readonly id: string;
              /** Lower case. */
              readonly email: string;
            }[];
            readonly activeKeys: number;
            readonly balanceNanoUsd: bigint;
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          }[];
          readonly nextCursor: string | null;
        };
      };
      readonly get: {
        readonly kind: "query";
        readonly input: {
          readonly id: string;
        };
        readonly output: {
          readonly users: readonly {
            readonly id: string;
            /** Lower case. */
            readonly email: string;
          }[];
          readonly activeKeys: number;
          readonly balanceNanoUsd: bigint;
          readonly id: string;
          readonly name: string;
          readonly plan: "enterprise" | "free" | "pro";
          readonly state: "active" | "suspended";
          /** `null` while the account is active. */
          readonly suspension: {
            readonly at: Date;
            readonly reason: string;
          } | null;
          readonly ipRules: {
            /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
            readonly mode: "enforce" | "report";
            /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
            readonly networks: readonly string[];
          };
          readonly limits: {
            readonly requestsPerMinute: number | null;
            readonly tokensPerMinute: number | null;
            /** Requests that are being answered at the same time. */
            readonly concurrentRequests: number | null;
          };
          readonly createdAt: Date;
        };
      };
      /** Works while sign-up is closed. The answer contains the first user's password; it cannot be read again. */
      readonly create: {
        readonly kind: "mutation";
        readonly input: {
          readonly email: string;
          readonly accountName: string;
          readonly plan?: "enterprise" | "free" | "pro" | undefined;
        };
        readonly output: {
          readonly account: {
            readonly users: readonly {
              readonly id: string;
              /** Lower case. */
              readonly email: string;
            }[];
            readonly activeKeys: number;
            readonly balanceNanoUsd: bigint;
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          };
          readonly password: string;
        };
      };
      /** Once this has answered, every node refuses the keys and management tokens of the account. */
      readonly suspend: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: string;
          readonly reason: string;
        };
        readonly output: {
          readonly account: {
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          };
          readonly notices: readonly string[];
        };
      };
      readonly reinstate: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: string;
          readonly reason?: string | undefined;
        };
        readonly output: {
          readonly account: {
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          };
          readonly notices: readonly string[];
        };
      };
      /** Existing keys stay, even if the new plan allows fewer. `notices` lists other effects of the change. */
      readonly setPlan: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: string;
          readonly plan: "enterprise" | "free" | "pro";
          readonly reason?: string | undefined;
        };
        readonly output: {
          readonly account: {
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          };
          readonly notices: readonly string[];
        };
      };
      /** Omit `mode` to keep the current one. */
      readonly setIpRules: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: string;
          readonly rules: {
            readonly mode?: "enforce" | "report" | null | undefined;
            readonly networks: readonly string[];
          };
          readonly reason?: string | undefined;
        };
        readonly output: {
          readonly account: {
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          };
          readonly notices: readonly string[];
        };
      };
      /** Tests an address against the account's rules, or against `rules` before they are set. */
      readonly tryIpRules: {
        readonly kind: "query";
        readonly input: {
          readonly id: string;
          readonly address: string;
          readonly rules?:
            | {
                readonly mode?: "enforce" | "report" | undefined;
                readonly networks: readonly string[];
              }
            | undefined;
        };
        readonly output: {
          readonly verdict: "blocked" | "passes" | "reported";
        };
      };
      /** `null` uses the plan's limit. */
      readonly setLimits: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: string;
          readonly limits: {
            readonly requestsPerMinute: number | null;
            readonly tokensPerMinute: number | null;
            readonly concurrentRequests: number | null;
          };
          readonly reason?: string | undefined;
        };
        readonly output: {
          readonly account: {
            readonly id: string;
            readonly name: string;
            readonly plan: "enterprise" | "free" | "pro";
            readonly state: "active" | "suspended";
            /** `null` while the account is active. */
            readonly suspension: {
              readonly at: Date;
              readonly reason: string;
            } | null;
            readonly ipRules: {
              /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
              readonly networks: readonly string[];
            };
            readonly limits: {
              readonly requestsPerMinute: number | null;
              readonly tokensPerMinute: number | null;
              /** Requests that are being answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            readonly createdAt: Date;
          };
          readonly notices: readonly string[];
        };
      };
      /** A negative amount takes credit back, at most what the account has. */
      readonly grantCredits: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: string;
          readonly amountNanoUsd: bigint;
          readonly reason: string;
        };
        readonly output: {
          readonly balanceNanoUsd: bigint;
          readonly amountNanoUsd: bigint;
        };
      };
    };
    readonly users: {
      /**
       * Sets a new random password and ends the user's sessions. Revokes their management tokens too, unless `keepTokens` is
       * given. The answer contains the password; it cannot be read again.
       */
      readonly resetPassword: {
        readonly kind: "mutation";
        readonly input: {
          readonly email: string;
          readonly keepTokens?: boolean | undefined;
        };
        readonly output: {
          readonly password: string;
          readonly revokedTokens: number;
        };
      };
    };
    /**
     * Usage of all accounts, in the form of `services.usage.summary`. The 50 accounts, or 200 models, with the highest cost in the
     * period have rows of their own. All others share one row per interval (`isOther`).
     */
    readonly usage: {
      readonly kind: "query";
      readonly input: {
        readonly from: string | Date;
        readonly to: string | Date;
        readonly interval: "day" | "hour" | "month";
        readonly groupBy?: "account" | "model" | "none" | undefined;
      };
      readonly output: {
        readonly rows: readonly {
          /** When the interval begins, in UTC. */
          readonly start: Date;
          /** As that of a `UsageRow`. */
          readonly model: string | null;
          /** `null` unless grouped by it. */
          readonly account: {
            readonly id: string;
            readonly name: string;
          } | null;
          /** Whether the row sums up the models or accounts without rows of their own. Neither is named then. */
          readonly isOther: boolean;
          readonly requests: number;
          /** The requests answered with a status of 400 or more. */
          readonly errors: number;
          readonly promptTokens: number;
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          readonly costNanoUsd: bigint;
        }[];
        readonly total: {
          readonly requests: number;
          /** The requests answered with a status of 400 or more. */
          readonly errors: number;
          readonly promptTokens: number;
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          readonly costNanoUsd: bigint;
        };
      };
    };
    /**
     * Security events, last seen first. Events of one hour that agree in every field are one row with a count. Events that
     * other nodes have seen in the last seconds may be missing. An event that recurs while pages are read moves to the front.
     */
    readonly security: {
      readonly kind: "query";
      readonly input:
        | {
            readonly direction?: "forward" | undefined;
            readonly limit?: number | undefined;
            readonly kind?:
              | "account_suspended"
              | "ip_blocked"
              | "management_token_refused"
              | "operator_signed_in"
              | "revoked_key"
              | "sign_in_failed"
              | "sign_in_limited"
              | "unknown_key"
              | "upstream_credential_refused"
              | undefined;
            readonly accountId?: string | undefined;
            readonly source?: string | undefined;
            readonly cursor?: string | undefined;
          }
        | undefined;
      readonly output: {
        readonly events: readonly {
          readonly id: string;
          readonly kind:
            | "account_suspended"
            | "ip_blocked"
            | "management_token_refused"
            | "operator_signed_in"
            | "revoked_key"
            | "sign_in_failed"
            | "sign_in_limited"
            | "unknown_key"
            | "upstream_credential_refused";
          readonly count: number;
          readonly firstAt: Date;
          readonly lastAt: Date;
          /** The account of the key, the management token or the user. */
          readonly account: {
            readonly id: string;
            readonly name: string;
          } | null;
          /** Last 4 characters of the key. */
          readonly keyId: string | null;
          readonly userEmail: string | null;
          readonly sourceIp: string | null;
          readonly upstream: string | null;
        }[];
        readonly nextCursor: string | null;
      };
    };
    /** Health of each upstream, as this node sees it. */
    readonly upstreams: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly upstreams: readonly {
          readonly name: string;
          readonly breaker: "closed" | "half-open" | "open";
          /** Requests that it is answering, and those that wait for a concurrency slot. */
          readonly inFlight: number;
          readonly waiting: number;
          /** Since this node was started. */
          readonly successes: number;
          readonly failures: number;
          readonly lastFailure: {
            readonly at: Date;
            readonly reason: string;
          } | null;
          /** When it last refused the service's credential; `null` since it last accepted it. */
          readonly credentialRefusedAt: Date | null;
        }[];
      };
    };
    /** The current catalog with its routes, without credentials. */
    readonly catalog: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly models: readonly {
          readonly id: string;
          readonly aliases: readonly string[];
          readonly ownedBy: string;
          /** When the model was added to the catalog, in Unix seconds. */
          readonly created: number;
          /** Whether the sandbox answers, without a real model. */
          readonly sandbox: boolean;
          readonly contextTokens: number | null;
          readonly maxOutputTokens: number | null;
          readonly modalities: {
            readonly input: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
            readonly output: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
          };
          /** `null`: free. */
          readonly prices: {
            readonly inputNanoUsdPerMTok: bigint;
            /** For prompt tokens read from the upstream's cache. */
            readonly cachedInputNanoUsdPerMTok: bigint;
            readonly outputNanoUsdPerMTok: bigint;
            /** Nano-USD for each image in a prompt, beside its tokens. */
            readonly imageNanoUsd: bigint;
          } | null;
          /** At least one. */
          readonly routes: readonly {
            /** Name of an upstream. */
            readonly upstream: string;
            /** What the upstream calls the model. */
            readonly model: string;
            /** Share of the requests that try this route first, relative to the model's other routes. */
            readonly weight: number;
          }[];
        }[];
        readonly upstreams: readonly {
          readonly name: string;
          /** The name of a dialect. */
          readonly dialect: string;
          /** Up to and with the version, no trailing slash: `https://api.openai.com/v1`. Empty: where its package finds it. */
          readonly baseUrl: string;
          readonly timeouts: {
            readonly connectMs: number;
            /** From the request sent to the answer's headers. */
            readonly firstByteMs: number;
            /** Between two chunks of the answer's body. */
            readonly idleMs: number;
          };
          /** Requests under way at once. */
          readonly maxConcurrency: number;
          /** The settings of its circuit breaker. */
          readonly breaker: {
            /** The number of consecutive failures that opens the breaker. */
            readonly failures: number;
            /** How long the breaker stays open at first. The time doubles with each failed probe, up to a minute. */
            readonly openMs: number;
          };
          readonly package: string | null;
          readonly hasCredential: boolean;
        }[];
      };
    };
    readonly nodes: {
      /**
       * The nodes that hold reserved credit: a row for each start of a node. The row of a node that has ended stays until the
       * node is started again or its credit is released.
       */
      readonly list: {
        readonly kind: "query";
        readonly input: undefined;
        readonly output: {
          readonly nodes: readonly {
            readonly id: bigint;
            readonly nodeId: string;
            /** For people: host and process. */
            readonly label: string;
            readonly seenAt: Date;
            /** Whether it has not been seen for a minute. Other nodes can't spend what it has reserved. */
            readonly isAway: boolean;
            /** The number of accounts whose credit it has reserved. */
            readonly accounts: number;
            readonly reservedNanoUsd: bigint;
          }[];
        };
      };
      /**
       * Releases the credit that a node has reserved, when the node will not return. If it returns after all, its pending
       * charges are collected as far as the accounts' credit reaches; the rest is recorded as uncollected.
       */
      readonly release: {
        readonly kind: "mutation";
        readonly input: {
          readonly id: bigint;
          readonly reason: string;
        };
        readonly output: {
          readonly accounts: number;
          readonly amountNanoUsd: bigint;
        };
      };
    };
    /** Reconciliation: compares balances with ledgers and usage with audit entries, and reports reserved credit. */
    readonly checkBooks: {
      readonly kind: "query";
      readonly input:
        | {
            readonly hours?: number | undefined;
          }
        | undefined;
      readonly output: {
        /** There should be none. */
        readonly mismatches: readonly {
          readonly accountId: string;
          readonly ledgerNanoUsd: bigint;
          readonly balanceNanoUsd: bigint;
          /** The part of it that nodes have reserved. */
          readonly reservedNanoUsd: bigint;
        }[];
        /** There should be none. */
        readonly usageMismatches: readonly {
          /** `null`: the whole service. */
          readonly accountId: string | null;
          /** `hour`: not the sum of the entries; `day`: not the sum of the hours; `month`: not the sum of the days. */
          readonly interval: "day" | "hour" | "month";
          readonly start: Date;
          /** `null`: all keys. */
          readonly key: string | null;
          /** `null`: all models. */
          readonly model: string | null;
        }[];
        /** The start of the period in which usage was compared and uncollected amounts were added up. */
        readonly since: Date;
        readonly reserved: {
          readonly reservations: number;
          readonly nanoUsd: bigint;
          readonly stuckNanoUsd: bigint;
        };
        readonly uncollected: readonly {
          readonly reason: string;
          readonly accounts: number;
          readonly nanoUsd: bigint;
        }[];
        /** The holds of requests on this node. */
        readonly held: {
          readonly holds: number;
          readonly nanoUsd: bigint;
        };
        readonly checkedAt: Date;
      };
    };
    readonly journal: {
      readonly list: {
        readonly kind: "query";
        readonly input:
          | {
              readonly limit?: number | undefined;
            }
          | undefined;
        readonly output: {
          readonly node: string;
          /** The journal's folder on that node. */
          readonly folder: string;
          readonly lines: readonly {
            readonly id: string;
            /** The file in the journal's folder, and the line in it, counted from 1. */
            readonly file: string;
            readonly line: number;
            readonly bytes: number;
            /** Whether the line is of a request that has ended or only begun, or can't be read. */
            readonly kind: "begun" | "ended" | "unreadable";
            /** Why the line can't be read; `null` if it can. Then the database has refused it, and replaying it shows why. */
            readonly problem: string | null;
            /** The request of a readable line. */
            readonly request: {
              readonly requestId: string;
              readonly accountId: string;
              readonly at: Date;
              readonly costNanoUsd: bigint;
            } | null;
            /** The beginning of the line. */
            readonly text: string;
          }[];
          /** How many more lines there are. */
          readonly more: number;
          /** Files and folders that can't be read. */
          readonly files: readonly {
            readonly file: string;
            readonly problem: string;
          }[];
        };
      };
      readonly get: {
        readonly kind: "query";
        readonly input: {
          readonly id: string;
        };
        readonly output: {
          readonly id: string;
          /** The file in the journal's folder, and the line in it, counted from 1. */
          readonly file: string;
          readonly line: number;
          readonly bytes: number;
          /** Whether the line is of a request that has ended or only begun, or can't be read. */
          readonly kind: "begun" | "ended" | "unreadable";
          /** Why the line can't be read; `null` if it can. Then the database has refused it, and replaying it shows why. */
          readonly problem: string | null;
          /** The request of a readable line. */
          readonly request: {
            readonly requestId: string;
            readonly accountId: string;
            readonly at: Date;
            readonly costNanoUsd: bigint;
          } | null;
          /** The beginning of the line. */
          readonly text: string;
        };
      };
      /** Without `ids` all of them. `replacement` is the mended text of the one line that is named. */
      readonly replay: {
        readonly kind: "mutation";
        readonly input:
          | {
              readonly ids?: readonly string[] | undefined;
              readonly replacement?: string | undefined;
            }
          | undefined;
        readonly output: {
          readonly replayed: number;
          readonly notReplayed: readonly {
            readonly id: string;
            readonly file: string;
            readonly line: number;
            readonly reason: string;
          }[];
        };
      };
      readonly discard: {
        readonly kind: "mutation";
        readonly input: {
          readonly ids: readonly string[];
          readonly reason: string;
        };
        readonly output: {
          readonly discarded: number;
        };
      };
    };
    /** The audit trail of one account or of all, newest first. */
    readonly audit: {
      readonly kind: "query";
      readonly input:
        | {
            readonly cursor?: string | undefined;
            readonly direction?: "forward" | undefined;
            readonly limit?: number | undefined;
            readonly accountId?: string | undefined;
          }
        | undefined;
      readonly output: {
        readonly actions: readonly {
          readonly id: string;
          readonly userEmail: string | null;
          readonly byOperator: boolean;
          readonly accountName: string | null;
          readonly at: Date;
          /** `null`: the service itself. */
          readonly by: {
            readonly userId: string;
            /** `null` for a session. */
            readonly managementToken: string | null;
            readonly sourceIp: string | null;
          } | null;
          readonly accountId: string | null;
          readonly action:
            | "account.create"
            | "account.grantCredits"
            | "account.reinstate"
            | "account.setIpRules"
            | "account.setLimits"
            | "account.setPlan"
            | "account.suspend"
            | "credit.release"
            | "journal.discard"
            | "journal.replay"
            | "key.create"
            | "key.reissue"
            | "key.revoke"
            | "key.rotate"
            | "token.create"
            | "token.revoke"
            | "user.changePassword"
            | "user.resetPassword"
            | "user.signOutAll"
            | "user.signUp";
          readonly reason: string | null;
          /** The parts that differ. */
          readonly before: {
            readonly [name: string]: unknown;
          } | null;
          readonly after: {
            readonly [name: string]: unknown;
          } | null;
        }[];
        readonly nextCursor: string | null;
      };
    };
    /** The whole audit trail as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    readonly exportActions: {
      readonly kind: "query";
      readonly input:
        | {
            readonly after?: number | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
      readonly output: {
        /** JSON, without line breaks, in the order of recording. */
        readonly lines: readonly string[];
        /** Pass it as `after` to continue; `null` at the end. */
        readonly next: number | null;
      };
    };
    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    readonly verifyActions: {
      readonly kind: "query";
      readonly input:
        | {
            readonly after?: number | undefined;
            readonly expected?:
              | {
                  readonly position: number;
                  readonly digest: string;
                }
              | undefined;
          }
        | undefined;
      readonly output: {
        /** The last action; `null`: none was recorded. */
        readonly head: {
          /** From 1. */
          readonly position: number;
          /** SHA-256, in hexadecimal. */
          readonly digest: string;
        } | null;
        /** The number of actions that this call has verified. */
        readonly actions: number;
        /** The first 100. */
        readonly problems: readonly {
          /** `null` for an action that is not in the chain. */
          readonly position: number | null;
          /**
           * `changed`: the action is not what was recorded. `missing`: there is no action at the position. `added`: an action is not in the
           * chain. `digest_differs`: the chain does not contain the expected point.
           */
          readonly problem: "added" | "changed" | "digest_differs" | "missing";
        }[];
        /** Pass it as `after` to verify the rest; `null`: everything is verified. */
        readonly next: number | null;
      };
    };
  };
  readonly models: {
    readonly list: {
      readonly kind: "query";
      readonly input: undefined;
      readonly output: {
        readonly models: readonly {
          readonly id: string;
          readonly aliases: readonly string[];
          readonly ownedBy: string;
          /** When the model was added to the catalog, in Unix seconds. */
          readonly created: number;
          /** Whether the sandbox answers, without a real model. */
          readonly sandbox: boolean;
          readonly contextTokens: number | null;
          readonly maxOutputTokens: number | null;
          readonly modalities: {
            readonly input: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
            readonly output: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
          };
          /** `null`: free. */
          readonly prices: {
            readonly inputNanoUsdPerMTok: bigint;
            /** For prompt tokens read from the upstream's cache. */
            readonly cachedInputNanoUsdPerMTok: bigint;
            readonly outputNanoUsdPerMTok: bigint;
            /** Nano-USD for each image in a prompt, beside its tokens. */
            readonly imageNanoUsd: bigint;
          } | null;
        }[];
      };
    };
  };
}

/** The error of a procedure, as tRPC's clients know it. */
export interface ProcedureError {
  readonly code:
    | -32700
    | -32603
    | -32600
    | -32099
    | -32029
    | -32028
    | -32022
    | -32015
    | -32013
    | -32012
    | -32009
    | -32008
    | -32005
    | -32004
    | -32003
    | -32002
    | -32001;
  readonly message: string;
  readonly data: {
    readonly code:
      | "BAD_GATEWAY"
      | "BAD_REQUEST"
      | "CLIENT_CLOSED_REQUEST"
      | "CONFLICT"
      | "FORBIDDEN"
      | "GATEWAY_TIMEOUT"
      | "INTERNAL_SERVER_ERROR"
      | "METHOD_NOT_SUPPORTED"
      | "NOT_FOUND"
      | "NOT_IMPLEMENTED"
      | "PARSE_ERROR"
      | "PAYLOAD_TOO_LARGE"
      | "PAYMENT_REQUIRED"
      | "PRECONDITION_FAILED"
      | "PRECONDITION_REQUIRED"
      | "SERVICE_UNAVAILABLE"
      | "TIMEOUT"
      | "TOO_MANY_REQUESTS"
      | "UNAUTHORIZED"
      | "UNPROCESSABLE_CONTENT"
      | "UNSUPPORTED_MEDIA_TYPE";
    /** The path of the procedure that threw. */
    readonly path?: string | undefined;
    /** The error's stack trace, only when `isDev` is set. */
    readonly stack?: string | undefined;
    readonly httpStatus: number;
    readonly ostiary: {
      readonly code:
        | "account_suspended"
        | "conflict"
        | "context_length_exceeded"
        | "credit_balance_exhausted"
        | "expectation_failed"
        | "headers_too_large"
        | "idempotency_key_in_use"
        | "idempotency_key_reused"
        | "idempotent_answer_gone"
        | "internal_error"
        | "invalid_api_key"
        | "invalid_json"
        | "invalid_management_token"
        | "invalid_request"
        | "ip_blocked"
        | "key_limit_reached"
        | "method_not_allowed"
        | "model_not_found"
        | "not_found"
        | "not_signed_in"
        | "permission_denied"
        | "rate_limit_exceeded"
        | "request_timeout"
        | "request_too_large"
        | "revoked_api_key"
        | "server_is_overloaded"
        | "too_many_concurrent_requests"
        | "unsupported_media_type"
        | "upstream_error"
        | "upstream_timeout"
        | "wrong_credentials";
      readonly type:
        | "insufficient_quota"
        | "invalid_request_error"
        | "permission_error"
        | "rate_limit_error"
        | "server_error";
      readonly param: string | null;
      readonly requestId: string | null;
    };
  };
}
