// Generated from the server's router by `npm run procedures`. Do not edit.

/** A procedure of the management API. */
export interface Procedure<Kind = "query" | "mutation" | "subscription", Input = unknown, Output = unknown> {
  /** How it is called. */
  readonly kind: Kind;
  /** What it takes; `undefined`: nothing. Fields that accept `undefined` may be omitted. */
  readonly input: Input;
  /** What it answers; of a subscription, an event. */
  readonly output: Output;
}

/** The procedures of the management API. */
export interface Procedures {
  /** The service itself. */
  readonly service: {
    /** What the dashboard needs before sign-in. */
    readonly info: Procedure<
      "query",
      undefined,
      {
        /** The operator's own name for the service. */
        readonly serviceName: string;
        /** Scheme, host and port that clients use. */
        readonly publicUrl: string;
        /** Whether anyone can create an account. */
        readonly signUp: "closed" | "open";
      }
    >;
  };
  /** Signing up, in and out of the dashboard. */
  readonly auth: {
    /** Creates an account with its first user. The cookie of the answer signs them in. Ends the session of an earlier cookie. */
    readonly signUp: Procedure<
      "mutation",
      {
        /** An e-mail address of up to 254 characters. */
        readonly email: string;
        /** The new password: 10 to 200 characters. */
        readonly password: string;
        /** The name of the new account: 1 to 80 characters. */
        readonly accountName: string;
      },
      {
        /** The signed-in user. */
        readonly user: {
          /** The id of the user, a UUID. */
          readonly id: string;
          /** The e-mail address, in lower case. */
          readonly email: string;
          /** `owner`: a user of an account; `operator`: an operator of the service. */
          readonly role: "operator" | "owner";
        };
        /** The user's account; `null` for operators, who have none. */
        readonly account: {
          /** The id of the account, a UUID. */
          readonly id: string;
          /** The name of the account. */
          readonly name: string;
          /** The plan, which sets limits and retention. */
          readonly plan: "enterprise" | "free" | "pro";
          /** Whether the account's keys and tokens are accepted. */
          readonly state: "active" | "suspended";
        } | null;
      }
    >;
    /** Signs a user in with a cookie. Ends the session of an earlier cookie. */
    readonly signIn: Procedure<
      "mutation",
      {
        /** An e-mail address of up to 254 characters. */
        readonly email: string;
        /** The password of the user. */
        readonly password: string;
      },
      {
        /** The signed-in user. */
        readonly user: {
          /** The id of the user, a UUID. */
          readonly id: string;
          /** The e-mail address, in lower case. */
          readonly email: string;
          /** `owner`: a user of an account; `operator`: an operator of the service. */
          readonly role: "operator" | "owner";
        };
        /** The user's account; `null` for operators, who have none. */
        readonly account: {
          /** The id of the account, a UUID. */
          readonly id: string;
          /** The name of the account. */
          readonly name: string;
          /** The plan, which sets limits and retention. */
          readonly plan: "enterprise" | "free" | "pro";
          /** Whether the account's keys and tokens are accepted. */
          readonly state: "active" | "suspended";
        } | null;
      }
    >;
    /** Ends the session of the cookie, and deletes the cookie. */
    readonly signOut: Procedure<"mutation", undefined, undefined>;
    /** The signed-in user; `null` without one. */
    readonly me: Procedure<
      "query",
      undefined,
      {
        /** The signed-in user. */
        readonly user: {
          /** The id of the user, a UUID. */
          readonly id: string;
          /** The e-mail address, in lower case. */
          readonly email: string;
          /** `owner`: a user of an account; `operator`: an operator of the service. */
          readonly role: "operator" | "owner";
        };
        /** The user's account; `null` for operators, who have none. */
        readonly account: {
          /** The id of the account, a UUID. */
          readonly id: string;
          /** The name of the account. */
          readonly name: string;
          /** The plan, which sets limits and retention. */
          readonly plan: "enterprise" | "free" | "pro";
          /** Whether the account's keys and tokens are accepted. */
          readonly state: "active" | "suspended";
        } | null;
      } | null
    >;
    /** The user's sessions, last seen first. */
    readonly sessions: Procedure<
      "query",
      undefined,
      {
        /** Up to 1,000 sessions. */
        readonly sessions: readonly {
          /** The address of the client; `null` when a trusted proxy sent one that can't be parsed. */
          readonly sourceIp: string | null;
          /** The `User-Agent` header of the client; `null` if it sent none. */
          readonly userAgent: string | null;
          /** The id of the session, a UUID. */
          readonly id: string;
          /** When the user signed in. */
          readonly createdAt: Date;
          /** When the session was last used, to the minute. */
          readonly lastSeenAt: Date;
          /** When the session ends. */
          readonly expiresAt: Date;
          /** Whether the call was made in this session. */
          readonly isCurrent: boolean;
        }[];
      }
    >;
    /** Ends one session. */
    readonly endSession: Procedure<
      "mutation",
      {
        /** The id of the session. */
        readonly id: string;
      },
      undefined
    >;
    /** Ends all sessions of the user, including the current one. */
    readonly signOutAll: Procedure<"mutation", undefined, undefined>;
    /** Ends every session of the user and starts a new one. */
    readonly changePassword: Procedure<
      "mutation",
      {
        /** The present password. */
        readonly current: string;
        /** The new password: 10 to 200 characters. */
        readonly next: string;
        /** Whether the user's management tokens are revoked, too. Default `false`. */
        readonly revokeTokens?: boolean | undefined;
      },
      undefined
    >;
  };
  /** The account of the caller. */
  readonly account: {
    /** The account, with the limits and rules that are in force. */
    readonly get: Procedure<
      "query",
      undefined,
      {
        /** The id of the account, a UUID. */
        readonly id: string;
        /** The name of the account. */
        readonly name: string;
        /** The plan, which sets limits and retention. */
        readonly plan: "enterprise" | "free" | "pro";
        /** Whether the account's keys and tokens are accepted. */
        readonly state: "active" | "suspended";
        /** When and why the account was suspended; `null` while it is active. */
        readonly suspension: {
          /** When the account was suspended. */
          readonly at: Date;
          /** The reason that the operator gave. */
          readonly reason: string;
        } | null;
        /** The addresses from which the keys may be used. */
        readonly ipRules: {
          /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
          readonly mode: "enforce" | "report";
          /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
          readonly networks: readonly string[];
        };
        /** The account's own limits. `null`: the limit of the plan. */
        readonly limits: {
          /** Requests in 60 seconds. */
          readonly requestsPerMinute: number | null;
          /** Tokens of prompts and answers in 60 seconds. */
          readonly tokensPerMinute: number | null;
          /** Requests that may be answered at the same time. */
          readonly concurrentRequests: number | null;
        };
        /** When the account was created. */
        readonly createdAt: Date;
        /** The days for which audit entries are kept; `null`: forever. */
        readonly auditRetentionDays: number | null;
        /** The days for which responses are stored with their prompts; 0: none is stored. */
        readonly responsesTtlDays: number;
        /** The maximum of active keys; `null`: no maximum. */
        readonly keyLimit: number | null;
        /** The limits in force: the account's own, or those of its plan. `null`: no limit. */
        readonly limitsInForce: {
          /** Requests in 60 seconds. */
          readonly requestsPerMinute: number | null;
          /** Tokens of prompts and answers in 60 seconds. */
          readonly tokensPerMinute: number | null;
          /** Requests that may be answered at the same time. */
          readonly concurrentRequests: number | null;
        };
        /** Whether the IP rules are in force. An account that left the enterprise plan keeps its rules without effect. */
        readonly ipRulesInForce: boolean;
      }
    >;
    /** What the account has done so far of the first steps. The latest 1,000 requests are looked at. */
    readonly firstSteps: Procedure<
      "query",
      undefined,
      {
        /** Whether it has had a key. */
        readonly hasKey: boolean;
        /** Whether one of its latest 1,000 requests came from a client, not from the playground. */
        readonly hasRequest: boolean;
        /** Whether one of its latest 1,000 requests was answered by a model that is not simulated. */
        readonly hasRealModel: boolean;
        /** Whether it has had a second key that is not the successor of another. */
        readonly hasSecondKey: boolean;
        /** Whether it has rotated a key. */
        readonly hasRotation: boolean;
      }
    >;
    /** The limits in force and their present use on all nodes. */
    readonly limits: Procedure<
      "query",
      undefined,
      {
        /** The limits in force. `null`: no limit. */
        readonly limits: {
          /** Requests in 60 seconds. */
          readonly requestsPerMinute: number | null;
          /** Tokens of prompts and answers in 60 seconds. */
          readonly tokensPerMinute: number | null;
          /** Requests that may be answered at the same time. */
          readonly concurrentRequests: number | null;
        };
        /** The present use of the limits. */
        readonly used: {
          /** Requests of the last minute. 0 without a limit, because then they are not counted. */
          readonly requests: number;
          /** Tokens of the last minute, estimated for requests that have not ended. 0 without a limit. */
          readonly tokens: number;
          /** Requests that are being answered, counted without a limit, too. */
          readonly concurrent: number;
        };
      }
    >;
    /** Whether a request from an address would pass the account's IP rules. */
    readonly tryAddress: Procedure<
      "query",
      {
        /** The address to test. */
        readonly address: string;
      },
      {
        /** `passes`; `blocked`: it would be refused; `reported`: it would pass and be marked, as the rules are in report mode. */
        readonly verdict: "blocked" | "passes" | "reported";
      }
    >;
    /** The audit trail of the account, newest first. It does not name operators. */
    readonly actions: Procedure<
      "query",
      | {
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of rows of the page: 1 to 200. Default 50. */
          readonly limit?: number | undefined;
        }
      | undefined,
      {
        /** The changes of the page, newest first. */
        readonly actions: readonly {
          /** When the change was made. */
          readonly at: Date;
          /** The author of the change; `null`: the service itself, or an operator where the account's users read it. */
          readonly by: {
            /** The id of the user, a UUID. */
            readonly userId: string;
            /** The id of the management token that a script used; `null` for a session. */
            readonly managementToken: string | null;
            /** The address of the client; `null`: unknown. */
            readonly sourceIp: string | null;
          } | null;
          /** The change. */
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
            | "provider.check"
            | "token.create"
            | "token.revoke"
            | "upstream.test"
            | "user.changePassword"
            | "user.resetPassword"
            | "user.signOutAll"
            | "user.signUp";
          /** The reason that its author gave; `null`: none. */
          readonly reason: string | null;
          /** The parts that changed, before the change. `null`: nothing to show. */
          readonly before: {
            readonly [name: string]: unknown;
          } | null;
          /** The same parts after the change. `null`: nothing to show. */
          readonly after: {
            readonly [name: string]: unknown;
          } | null;
          /** The id of the change, a UUID. */
          readonly id: string;
          /** The e-mail address of the author; `null` where `by` is. */
          readonly userEmail: string | null;
          /** Whether an operator made the change. */
          readonly byOperator: boolean;
        }[];
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
    /** The audit trail of the account as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    readonly exportActions: Procedure<
      "query",
      | {
          /** The position in the chain after which to begin: the `next` of the previous part. Default 0: at the beginning. */
          readonly after?: number | undefined;
          /** The maximum number of lines, 1 to 1,000. Default 1,000. */
          readonly limit?: number | undefined;
        }
      | undefined,
      {
        /** JSON, without line breaks, in the order of recording. */
        readonly lines: readonly string[];
        /** Pass it as `after` to continue; `null` at the end. */
        readonly next: number | null;
      }
    >;
    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    readonly verifyActions: Procedure<
      "query",
      | {
          /** The position in the chain after which to begin: the `next` of the previous part. Default 0: at the beginning. */
          readonly after?: number | undefined;
          /** A point that was kept earlier, which the chain must contain. */
          readonly expected?:
            | {
                /** Its position in the chain, from 1. */
                readonly position: number;
                /** Its digest: SHA-256, in hexadecimal. */
                readonly digest: string;
              }
            | undefined;
        }
      | undefined,
      {
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
      }
    >;
  };
  /** API keys. */
  readonly keys: {
    /**
     * Keys with their usage: active keys first, each state's newest first, at most 1,000. Pass `nextCursor` as `cursor` to read
     * the next page.
     */
    readonly list: Procedure<
      "query",
      | {
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** The maximum number of keys of the page: 1 to 1,000. Default 1,000. */
          readonly limit?: number | undefined;
          /** Lists keys whose name or key ID contains this text, upper and lower case alike: 1 to 64 characters. */
          readonly search?: string | undefined;
        }
      | undefined,
      {
        /** The keys of the page. */
        readonly keys: readonly {
          /** How much the key is used. */
          readonly usage: {
            /** When the last request arrived; `null`: never used. */
            readonly lastUsedAt: Date | null;
            /** The address of the last request; `null` if the key was never used or the address is unknown. */
            readonly lastUsedIp: string | null;
            /** The number of client addresses in the last 30 days. */
            readonly addresses: number;
            /** Requests in the last 60 seconds. */
            readonly requestsLastMinute: number;
            /** Requests in the present minute and the 60 before it. */
            readonly requestsLastHour: number;
            /** Requests in the present minute and the 1,440 before it. */
            readonly requestsLastDay: number;
          };
          /** How far the successor has taken over; `null`: `rotate` has created none. */
          readonly rotation: {
            /** The id of the successor. */
            readonly successorId: string;
            /** Seconds without a request after which the old key counts as idle. */
            readonly idleAfterSeconds: number;
            /** Since when the old key has been unused: its last request, or the creation of the successor if that was later. */
            readonly idleSince: Date;
            /** Whether the old key has been unused for `idleAfterSeconds`. Revoking it remains the owner's decision. */
            readonly isIdle: boolean;
          } | null;
          /** The id of the key, a UUID. */
          readonly id: string;
          /** The name of the key. */
          readonly name: string;
          /** Last 4 characters of the key string. */
          readonly keyId: string;
          /** Whether requests with the key are accepted. */
          readonly state: "active" | "revoked";
          /** When the key was created. */
          readonly createdAt: Date;
          /** When the key was revoked; `null`: it is active. */
          readonly revokedAt: Date | null;
          /** The id of the key that this one was created to replace; `null`: none. */
          readonly replaces: string | null;
        }[];
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
    /** Some keys with their usage, in the order of the list. Keys that the account does not have are left out. */
    readonly get: Procedure<
      "query",
      {
        /** The ids of the keys: 1 to 100. */
        readonly ids: readonly string[];
      },
      {
        /** The keys. */
        readonly keys: readonly {
          /** How much the key is used. */
          readonly usage: {
            /** When the last request arrived; `null`: never used. */
            readonly lastUsedAt: Date | null;
            /** The address of the last request; `null` if the key was never used or the address is unknown. */
            readonly lastUsedIp: string | null;
            /** The number of client addresses in the last 30 days. */
            readonly addresses: number;
            /** Requests in the last 60 seconds. */
            readonly requestsLastMinute: number;
            /** Requests in the present minute and the 60 before it. */
            readonly requestsLastHour: number;
            /** Requests in the present minute and the 1,440 before it. */
            readonly requestsLastDay: number;
          };
          /** How far the successor has taken over; `null`: `rotate` has created none. */
          readonly rotation: {
            /** The id of the successor. */
            readonly successorId: string;
            /** Seconds without a request after which the old key counts as idle. */
            readonly idleAfterSeconds: number;
            /** Since when the old key has been unused: its last request, or the creation of the successor if that was later. */
            readonly idleSince: Date;
            /** Whether the old key has been unused for `idleAfterSeconds`. Revoking it remains the owner's decision. */
            readonly isIdle: boolean;
          } | null;
          /** The id of the key, a UUID. */
          readonly id: string;
          /** The name of the key. */
          readonly name: string;
          /** Last 4 characters of the key string. */
          readonly keyId: string;
          /** Whether requests with the key are accepted. */
          readonly state: "active" | "revoked";
          /** When the key was created. */
          readonly createdAt: Date;
          /** When the key was revoked; `null`: it is active. */
          readonly revokedAt: Date | null;
          /** The id of the key that this one was created to replace; `null`: none. */
          readonly replaces: string | null;
        }[];
      }
    >;
    /** How many keys the account has. */
    readonly count: Procedure<
      "query",
      undefined,
      {
        /** The number of active keys. */
        readonly active: number;
        /** The number of revoked keys. */
        readonly revoked: number;
        /** Whether a request was ever made with one of them. */
        readonly areUsed: boolean;
      }
    >;
    /** The present usage of a key, and how far its successor has taken over. */
    readonly usage: Procedure<
      "query",
      {
        /** The id of the key, a UUID. Not its key ID. */
        readonly id: string;
      },
      {
        /** The id of the key, a UUID. */
        readonly id: string;
        /** The name of the key. */
        readonly name: string;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        /** Whether requests with the key are accepted. */
        readonly state: "active" | "revoked";
        /** When the key was created. */
        readonly createdAt: Date;
        /** When the key was revoked; `null`: it is active. */
        readonly revokedAt: Date | null;
        /** The id of the key that this one was created to replace; `null`: none. */
        readonly replaces: string | null;
        /** When the last request arrived; `null`: never used. */
        readonly lastUsedAt: Date | null;
        /** The address of the last request; `null` if the key was never used or the address is unknown. */
        readonly lastUsedIp: string | null;
        /** The number of client addresses in the last 30 days. */
        readonly addresses: number;
        /** Requests in the last 60 seconds. */
        readonly requestsLastMinute: number;
        /** Requests in the present minute and the 60 before it. */
        readonly requestsLastHour: number;
        /** Requests in the present minute and the 1,440 before it. */
        readonly requestsLastDay: number;
        /** How far the successor has taken over; `null`: `rotate` has created none. */
        readonly rotation: {
          /** The id of the successor. */
          readonly successorId: string;
          /** Seconds without a request after which the old key counts as idle. */
          readonly idleAfterSeconds: number;
          /** Since when the old key has been unused: its last request, or the creation of the successor if that was later. */
          readonly idleSince: Date;
          /** Whether the old key has been unused for `idleAfterSeconds`. Revoking it remains the owner's decision. */
          readonly isIdle: boolean;
        } | null;
      }
    >;
    /** The addresses from which a key was used in the last 30 days, the latest first: at most 100. */
    readonly addresses: Procedure<
      "query",
      {
        /** The id of the key, a UUID. Not its key ID. */
        readonly id: string;
      },
      {
        /** The addresses. */
        readonly addresses: readonly {
          /** An IPv4 or IPv6 address. */
          readonly ip: string;
          /** When the last request with the key arrived from it. */
          readonly lastUsedAt: Date;
        }[];
      }
    >;
    /** Creates a key. The answer contains the key string; it cannot be read again. */
    readonly create: Procedure<
      "mutation",
      {
        /** A name that no other active key of the account has: 1 to 64 characters. */
        readonly name: string;
        /** A random value for this request: 8 to 255 characters. Repeated with it within 24 hours, the request creates no second key. */
        readonly idempotencyKey?: string | undefined;
      },
      {
        /** The id of the key, a UUID. */
        readonly id: string;
        /** The name of the key. */
        readonly name: string;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        /** The complete key string, which cannot be read again. */
        readonly key: string;
        /** A new key is active. */
        readonly state: "active";
        /** When the key was created. */
        readonly createdAt: Date;
        /** The id of the key that this one replaces; `null`: none. */
        readonly replaces: string | null;
      }
    >;
    /** Creates a successor of a key. The answer contains its key string; it cannot be read again. The old key works until it is revoked; `usage` reports when it is idle. */
    readonly rotate: Procedure<
      "mutation",
      {
        /** The id of the key, a UUID. Not its key ID. */
        readonly id: string;
        /** The name of the successor: 1 to 64 characters. Default: the name of the old key with a number. */
        readonly name?: string | undefined;
        /** Seconds without a request after which the old key counts as idle: 60 to 2,592,000 (30 days). Default 86,400 (a day). */
        readonly idleAfterSeconds?: number | undefined;
        /** A random value for this request: 8 to 255 characters. Repeated with it within 24 hours, the request creates no second key. */
        readonly idempotencyKey?: string | undefined;
      },
      {
        /** The id of the key, a UUID. */
        readonly id: string;
        /** The name of the key. */
        readonly name: string;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        /** The complete key string, which cannot be read again. */
        readonly key: string;
        /** A new key is active. */
        readonly state: "active";
        /** When the key was created. */
        readonly createdAt: Date;
        /** The id of the key that this one replaces; `null`: none. */
        readonly replaces: string | null;
      }
    >;
    /** Revokes a key. Once this has answered, no node admits the key. */
    readonly revoke: Procedure<
      "mutation",
      {
        /** The id of the key, a UUID. Not its key ID. */
        readonly id: string;
      },
      {
        /** The id of the key, a UUID. */
        readonly id: string;
        /** The name of the key. */
        readonly name: string;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        /** Whether requests with the key are accepted. */
        readonly state: "active" | "revoked";
        /** When the key was created. */
        readonly createdAt: Date;
        /** When the key was revoked; `null`: it is active. */
        readonly revokedAt: Date | null;
        /** The id of the key that this one was created to replace; `null`: none. */
        readonly replaces: string | null;
      }
    >;
  };
  /** Management tokens, by which scripts manage an account. */
  readonly tokens: {
    /** The user's management tokens, those in use first. */
    readonly list: Procedure<
      "query",
      undefined,
      {
        /** Up to 1,000 tokens. */
        readonly tokens: readonly {
          /** The id of the token, a UUID. */
          readonly id: string;
          /** The name that its user gave it. */
          readonly name: string;
          /** Last 4 characters of the token. */
          readonly tokenId: string;
          /** When the token was created. */
          readonly createdAt: Date;
          /** When the token expires; `null`: never. */
          readonly expiresAt: Date | null;
          /** When the token was revoked; `null`: it was not revoked. */
          readonly revokedAt: Date | null;
          /** When the token was last used, to the minute; `null`: never. */
          readonly lastUsedAt: Date | null;
          /** The address of the last use; `null` if the token was never used or the address is unknown. */
          readonly lastUsedIp: string | null;
        }[];
      }
    >;
    /** Creates a management token. The answer contains the token; it cannot be read again. */
    readonly create: Procedure<
      "mutation",
      {
        /** The name of the token: 1 to 64 characters. */
        readonly name: string;
        /** The days until the token expires: 1 to 3,650. Default: it does not expire. */
        readonly expiresInDays?: number | undefined;
      },
      {
        /** The complete token, which cannot be read again. */
        readonly token: string;
        /** The id of the token, a UUID. */
        readonly id: string;
        /** The name that its user gave it. */
        readonly name: string;
        /** Last 4 characters of the token. */
        readonly tokenId: string;
        /** When the token was created. */
        readonly createdAt: Date;
        /** When the token expires; `null`: never. */
        readonly expiresAt: Date | null;
      }
    >;
    /** Revokes a token. Once this has answered, the token is refused. */
    readonly revoke: Procedure<
      "mutation",
      {
        /** The id of the token. */
        readonly id: string;
      },
      {
        /** The id of the token, a UUID. */
        readonly id: string;
        /** The name that its user gave it. */
        readonly name: string;
        /** Last 4 characters of the token. */
        readonly tokenId: string;
        /** When the token was created. */
        readonly createdAt: Date;
        /** When the token expires; `null`: never. */
        readonly expiresAt: Date | null;
        /** When the token was revoked; `null`: it was not revoked. */
        readonly revokedAt: Date | null;
        /** When the token was last used, to the minute; `null`: never. */
        readonly lastUsedAt: Date | null;
        /** The address of the last use; `null` if the token was never used or the address is unknown. */
        readonly lastUsedIp: string | null;
      }
    >;
  };
  /** The audit log: an entry for each request. */
  readonly audit: {
    /** Entries of the audit log, newest first. If few of many entries match, a page may have fewer entries than `limit`, or none. */
    readonly list: Procedure<
      "query",
      | {
          /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC. */
          readonly from?: string | Date | undefined;
          /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
          readonly to?: string | Date | undefined;
          /** The id of a key, or its key ID: the last 4 characters of the key string. */
          readonly key?: string | undefined;
          /** The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters. */
          readonly model?: string | undefined;
          /** The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters. */
          readonly upstream?: string | undefined;
          /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
          readonly status?: string | undefined;
          /** An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`. */
          readonly error_code?: string | undefined;
          /** The address that requests came from: an IP address or a CIDR block. */
          readonly source?: string | undefined;
          /** The `nextCursor` of the previous page, which had the same filters. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of entries of the page: 1 to 1,000. Default 50. */
          readonly limit?: number | undefined;
        }
      | undefined,
      {
        /** The entries of the page, newest first. */
        readonly entries: readonly {
          /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
          readonly keyName: string;
          /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
          readonly requestId: string;
          /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
          readonly timestamp: Date;
          /** Prompt and completion tokens together; `null`: unknown. */
          readonly tokenCount: number | null;
          /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
          readonly audioTokens: number | null;
          /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
          readonly cacheWrite1hTokens: number | null;
          /**
           * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
           * unknown.
           */
          readonly cacheWriteTokens: number | null;
          /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
          readonly cachedTokens: number | null;
          /** The tokens of the answer; `null`: unknown. */
          readonly completionTokens: number | null;
          /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
          readonly costNanoUsd: bigint;
          /**
           * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
           * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
           * service stopped; `node_lost`: the process died, so that the outcome is unknown.
           */
          readonly endReason:
            | "client_gone"
            | "node_lost"
            | "refused"
            | "shutdown"
            | "stop"
            | "timeout"
            | "upstream_error";
          /** Method and path of the operation, such as `POST /v1/chat/completions`. */
          readonly endpoint: string;
          /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
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
          /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
          readonly id: string;
          /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
          readonly imageTokens: number | null;
          /** Last 4 characters of the key string. */
          readonly keyId: string;
          /** Milliseconds from the arrival of the request to the end of the answer. */
          readonly latencyMs: number;
          /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
          readonly model: string | null;
          /** The tokens of the prompt; `null`: unknown. */
          readonly promptTokens: number | null;
          /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
          readonly reasoningTokens: number | null;
          /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
          readonly sourceIp: string | null;
          /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
          readonly status: number;
          /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
          readonly timeToFirstTokenMs: number | null;
          /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
          readonly upstream: string | null;
          /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
          readonly usageSource: "estimated" | "none" | "upstream";
          /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
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
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
    /** The entry of one request. */
    readonly get: Procedure<
      "query",
      {
        /** The `x-request-id` of the answer to the request. */
        readonly requestId: string;
      },
      {
        /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
        readonly keyName: string;
        /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
        readonly requestId: string;
        /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
        readonly timestamp: Date;
        /** Prompt and completion tokens together; `null`: unknown. */
        readonly tokenCount: number | null;
        /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
        readonly audioTokens: number | null;
        /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
        readonly cacheWrite1hTokens: number | null;
        /**
         * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
         * unknown.
         */
        readonly cacheWriteTokens: number | null;
        /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
        readonly cachedTokens: number | null;
        /** The tokens of the answer; `null`: unknown. */
        readonly completionTokens: number | null;
        /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
        readonly costNanoUsd: bigint;
        /**
         * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
         * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
         * service stopped; `node_lost`: the process died, so that the outcome is unknown.
         */
        readonly endReason:
          | "client_gone"
          | "node_lost"
          | "refused"
          | "shutdown"
          | "stop"
          | "timeout"
          | "upstream_error";
        /** Method and path of the operation, such as `POST /v1/chat/completions`. */
        readonly endpoint: string;
        /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
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
        /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
        readonly id: string;
        /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
        readonly imageTokens: number | null;
        /** Last 4 characters of the key string. */
        readonly keyId: string;
        /** Milliseconds from the arrival of the request to the end of the answer. */
        readonly latencyMs: number;
        /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
        readonly model: string | null;
        /** The tokens of the prompt; `null`: unknown. */
        readonly promptTokens: number | null;
        /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
        readonly reasoningTokens: number | null;
        /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
        readonly sourceIp: string | null;
        /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
        readonly status: number;
        /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
        readonly timeToFirstTokenMs: number | null;
        /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
        readonly upstream: string | null;
        /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
        readonly usageSource: "estimated" | "none" | "upstream";
        /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
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
      }
    >;
    /**
     * Sums of the entries that match: totals, a histogram, and how many have each model, error code and status. Of more than 200,000
     * entries in the period, the newest are counted.
     */
    readonly summary: Procedure<
      "query",
      | {
          /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC. */
          readonly from?: string | Date | undefined;
          /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
          readonly to?: string | Date | undefined;
          /** The id of a key, or its key ID: the last 4 characters of the key string. */
          readonly key?: string | undefined;
          /** The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters. */
          readonly model?: string | undefined;
          /** The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters. */
          readonly upstream?: string | undefined;
          /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
          readonly status?: string | undefined;
          /** An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`. */
          readonly error_code?: string | undefined;
          /** The address that requests came from: an IP address or a CIDR block. */
          readonly source?: string | undefined;
        }
      | undefined,
      {
        /** The sums over all entries that were counted. */
        readonly total: {
          /** The number of requests, including refused ones. */
          readonly requests: number;
          /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The tokens of the prompts. */
          readonly promptTokens: number;
          /** The tokens of the answers. */
          readonly completionTokens: number;
          /** The cost in nano-USD. */
          readonly costNanoUsd: bigint;
        };
        /** The time up to which older entries were not counted, because there are too many; `null`: all were counted. */
        readonly countedFrom: Date | null;
        /** The length of an interval of the histogram in milliseconds. */
        readonly bucketMs: number;
        /** The intervals of the histogram, in order of time, without gaps: at most 100. Empty without entries. */
        readonly buckets: readonly {
          /** When the interval begins. */
          readonly start: Date;
          /** The number of requests, including refused ones. */
          readonly requests: number;
          /** The requests that failed. */
          readonly errors: number;
        }[];
        /** The models with the most requests, at most 100. */
        readonly models: readonly {
          /** The value. */
          readonly value: string;
          /** The number of requests. */
          readonly requests: number;
        }[];
        /** The error codes with the most requests, at most 100. */
        readonly errorCodes: readonly {
          /** The value. */
          readonly value: string;
          /** The number of requests. */
          readonly requests: number;
        }[];
        /** The statuses with the most requests, at most 100. */
        readonly statuses: readonly {
          /** The value. */
          readonly value: string;
          /** The number of requests. */
          readonly requests: number;
        }[];
        /** The upstreams with the most requests, at most 100. */
        readonly upstreams: readonly {
          /** The value. */
          readonly value: string;
          /** The number of requests. */
          readonly requests: number;
        }[];
      }
    >;
    /**
     * Entries that are recorded from now on, or after `lastEventId`: at most 200 at a time. Without `lastEventId`, the first event has no
     * entries: its `id` is the `lastEventId` to continue after if the connection is lost. Ends when the caller may no longer read the account.
     */
    readonly tail: Procedure<
      "subscription",
      | {
          /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC. */
          readonly from?: string | Date | undefined;
          /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
          readonly to?: string | Date | undefined;
          /** The id of a key, or its key ID: the last 4 characters of the key string. */
          readonly key?: string | undefined;
          /** The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters. */
          readonly model?: string | undefined;
          /** The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters. */
          readonly upstream?: string | undefined;
          /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
          readonly status?: string | undefined;
          /** An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`. */
          readonly error_code?: string | undefined;
          /** The address that requests came from: an IP address or a CIDR block. */
          readonly source?: string | undefined;
          /** The `id` of the last event that was received: the subscription continues after it. Default: only new entries. */
          readonly lastEventId?: string | undefined;
        }
      | undefined,
      {
        /**
         * The event's id, which the client sends back as `lastEventId` when it
         * reconnects.
         */
        readonly id: string;
        /** The event's data. */
        readonly data: {
          /** The new entries, at most 200, oldest first. */
          readonly entries: readonly {
            /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
            readonly keyName: string;
            /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
            readonly requestId: string;
            /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
            readonly timestamp: Date;
            /** Prompt and completion tokens together; `null`: unknown. */
            readonly tokenCount: number | null;
            /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
            readonly audioTokens: number | null;
            /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
            readonly cacheWrite1hTokens: number | null;
            /**
             * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
             * unknown.
             */
            readonly cacheWriteTokens: number | null;
            /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
            readonly cachedTokens: number | null;
            /** The tokens of the answer; `null`: unknown. */
            readonly completionTokens: number | null;
            /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
            readonly costNanoUsd: bigint;
            /**
             * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
             * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
             * service stopped; `node_lost`: the process died, so that the outcome is unknown.
             */
            readonly endReason:
              | "client_gone"
              | "node_lost"
              | "refused"
              | "shutdown"
              | "stop"
              | "timeout"
              | "upstream_error";
            /** Method and path of the operation, such as `POST /v1/chat/completions`. */
            readonly endpoint: string;
            /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
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
            /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
            readonly id: string;
            /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
            readonly imageTokens: number | null;
            /** Last 4 characters of the key string. */
            readonly keyId: string;
            /** Milliseconds from the arrival of the request to the end of the answer. */
            readonly latencyMs: number;
            /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
            readonly model: string | null;
            /** The tokens of the prompt; `null`: unknown. */
            readonly promptTokens: number | null;
            /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
            readonly reasoningTokens: number | null;
            /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
            readonly sourceIp: string | null;
            /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
            readonly status: number;
            /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
            readonly timeToFirstTokenMs: number | null;
            /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
            readonly upstream: string | null;
            /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
            readonly usageSource: "estimated" | "none" | "upstream";
            /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
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
          /** The number of further entries, which the event leaves out, counted up to 10,000. */
          readonly skipped: number;
          /** Whether entries before these may be missing. `audit.list` has them. */
          readonly hasGap: boolean;
        };
      }
    >;
    /**
     * Detects entries that were changed, removed or added after they were recorded. A call covers some hundred thousand;
     * pass `next` as `after` to continue.
     */
    readonly verify: Procedure<
      "query",
      | {
          /** `next` of the previous call. Omit it to begin with the first batch. */
          readonly after?: number | undefined;
          /**
           * A `head` that you saved earlier. The call then reports if the chain no longer contains it. One of a batch before `removedBatches`
           * cannot be compared any more.
           */
          readonly expected?:
            | {
                /** The number of the batch, from 1. */
                readonly batch: number;
                /** The SHA-256 digest: 64 hexadecimal digits in lower case. */
                readonly digest: string;
              }
            | undefined;
        }
      | undefined,
      {
        /** The last batch; `null`: nothing has been recorded. */
        readonly head: {
          /** The number of the batch, from 1. */
          readonly batch: number;
          /** The SHA-256 digest of the batch and those before it: 64 hexadecimal digits. */
          readonly digest: string;
        } | null;
        /** Batches up to this one were deleted at the end of the plan's retention. 0: none. */
        readonly removedBatches: number;
        /** The number of batches that this call has verified. */
        readonly batches: number;
        /** The number of entries that this call has verified. */
        readonly entries: number;
        /** What was found wrong, up to 100 problems. Empty: nothing was changed. */
        readonly problems: readonly {
          /** The number of the batch, from 1. */
          readonly batch: number;
          /**
           * `changed`: its entries, or what is stored of it, differ from what was recorded. `entries_missing`, `entries_added`: their number differs too.
           * `batch_missing`: the batch itself is missing. `digest_differs`: the chain does not contain the expected point.
           */
          readonly problem:
            | "batch_missing"
            | "changed"
            | "digest_differs"
            | "entries_added"
            | "entries_missing";
          /** The number of entries that the batch was recorded with; `null`: the batch is missing. */
          readonly recordedEntries: number | null;
          /** The number of entries that the database has of the batch. */
          readonly foundEntries: number;
        }[];
        /** Pass it as `after` to verify the rest; `null`: everything is verified. */
        readonly next: number | null;
      }
    >;
  };
  /** Sums over the audit log. */
  readonly usage: {
    /**
     * Requests, errors, tokens and cost, in intervals of a time zone, always equal to the sums of the entries. Intervals that the
     * period covers in part are included as a whole. Where midnight is within an hour of UTC, a day begins with the next hour.
     */
    readonly summary: Procedure<
      "query",
      {
        /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
        readonly from: string | Date;
        /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
        readonly to: string | Date;
        /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
        readonly interval: "day" | "hour" | "month";
        /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
        readonly timeZone?: string | undefined;
        /** The id of a key, a UUID. Default: all keys. */
        readonly key?: string | undefined;
        /** A model, as rows name it: up to 256 characters. Default: all models. */
        readonly model?: string | undefined;
        /** What has rows of its own in each interval. Default `none`. */
        readonly groupBy?: "key" | "model" | "none" | undefined;
      },
      {
        /** One row per interval and group, in order of time. Intervals without requests have none. */
        readonly rows: readonly {
          /** When the interval begins. */
          readonly start: Date;
          /**
           * The model; `null` unless rows are grouped by model. It is empty for requests that named none, and `unknown model` for all models
           * that the catalog does not have.
           */
          readonly model: string | null;
          /** The key; `null` unless rows are grouped by key. */
          readonly key: {
            /** The id of the key, a UUID. */
            readonly id: string;
            /** Last 4 characters of the key string. */
            readonly keyId: string;
            /** The name of the key. */
            readonly name: string;
          } | null;
          /** Whether the row sums up the models or keys without rows of their own. Neither is named then. */
          readonly isOther: boolean;
          /** The number of requests, including refused ones. */
          readonly requests: number;
          /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The tokens of the prompts. */
          readonly promptTokens: number;
          /** The tokens of the answers. */
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          /** The cost in nano-USD. */
          readonly costNanoUsd: bigint;
        }[];
        /** The sums over all rows. */
        readonly total: {
          /** The number of requests, including refused ones. */
          readonly requests: number;
          /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The tokens of the prompts. */
          readonly promptTokens: number;
          /** The tokens of the answers. */
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          /** The cost in nano-USD. */
          readonly costNanoUsd: bigint;
        };
      }
    >;
    /**
     * How fast the requests of a period were answered, by interval and by upstream: median and 95th percentile of the newest
     * 20,000 entries.
     */
    readonly performance: Procedure<
      "query",
      {
        /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
        readonly from: string | Date;
        /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
        readonly to: string | Date;
        /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
        readonly interval: "day" | "hour" | "month";
        /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
        readonly timeZone?: string | undefined;
        /** The id of a key, a UUID. Default: all keys. */
        readonly key?: string | undefined;
        /** A model, as rows name it: up to 256 characters. Default: all models. */
        readonly model?: string | undefined;
      },
      {
        /** One row per interval with requests, in order of time. */
        readonly intervals: readonly {
          /** The number of requests that reached an upstream. */
          readonly requests: number;
          /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The time from the request to the end of the answer. */
          readonly latencyMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** The time from the request to the first token, of streams. */
          readonly timeToFirstTokenMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** When the interval begins. */
          readonly start: Date;
        }[];
        /** One row per upstream, the one with most requests first. */
        readonly upstreams: readonly {
          /** The number of requests that reached an upstream. */
          readonly requests: number;
          /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The time from the request to the end of the answer. */
          readonly latencyMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** The time from the request to the first token, of streams. */
          readonly timeToFirstTokenMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** The name of the upstream. */
          readonly upstream: string;
        }[];
        /**
         * When the oldest request that was measured came in, if the period has more than the newest 20,000 requests, which are measured; `null`:
         * all were.
         */
        readonly measuredSince: Date | null;
      }
    >;
  };
  /** The credit of the account. */
  readonly credits: {
    /** The balance of the account, after all requests that this node has recorded. */
    readonly balance: Procedure<
      "query",
      undefined,
      {
        /** The balance in nano-USD, including the reserved part. */
        readonly balanceNanoUsd: bigint;
        /** The part of the balance that nodes have reserved for requests, in nano-USD. */
        readonly reservedNanoUsd: bigint;
      }
    >;
    /**
     * The statement of the account, newest first: each grant and adjustment, and the requests of each UTC day as one line with their
     * complete sum.
     */
    readonly statement: Procedure<
      "query",
      | {
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of rows of the page: 1 to 200. Default 50. */
          readonly limit?: number | undefined;
        }
      | undefined,
      {
        /** The lines of the page, newest first. */
        readonly lines: readonly {
          /** The id of the line, a UUID: that of the transaction, or one that stands for the day. */
          readonly id: string;
          /** When the transaction was recorded. Of `requests`: when the UTC day begins. */
          readonly at: Date;
          /**
           * A `grant` adds credit, and an `adjustment` takes it back. `requests` sums up all charges that were recorded on a UTC day, less
           * what was not collected of them.
           */
          readonly kind: "adjustment" | "grant" | "requests";
          /** The amount in nano-USD, by which the line changed the balance. Of adjustments and requests it is negative, or 0. */
          readonly amountNanoUsd: bigint;
          /** What the operator gave as the reason of a grant or an adjustment; `requests` for a day's requests. */
          readonly reason: string;
          /** The part of the day's costs that the account did not pay, in nano-USD; 0 for grants and adjustments. */
          readonly uncollectedNanoUsd: bigint;
        }[];
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
    /** The transactions of the account, newest first. */
    readonly ledger: Procedure<
      "query",
      | {
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of rows of the page: 1 to 200. Default 50. */
          readonly limit?: number | undefined;
        }
      | undefined,
      {
        /** The transactions of the page, newest first. */
        readonly entries: readonly {
          /** The id of the transaction, a UUID. */
          readonly id: string;
          /** When the transaction was recorded. */
          readonly at: Date;
          /**
           * A `charge` covers many requests, whose entries are in the audit log. It is written in full; the part that the account did not pay
           * is a row of its own, `uncollected`. A `grant` adds credit, and an `adjustment` takes it back.
           */
          readonly kind: "adjustment" | "charge" | "grant" | "uncollected";
          /** The amount in nano-USD. Charges and adjustments are negative. */
          readonly amountNanoUsd: bigint;
          /**
           * Why the balance changed: `requests` for a charge, and what the operator gave for a grant or an adjustment. Of an `uncollected` amount: `beyond_hold` (the request cost more than was held
           * for it), `released` (the credit of its node had been released), `repeated` (a second answer to one idempotency key) or
           * `implausible` (reported by an upstream beyond what the model can do; at most 1 USD of a request).
           */
          readonly reason: string;
        }[];
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
  };
  /** Procedures for operators. The audit trail records every change. */
  readonly operator: {
    /** Health of each upstream, as this node sees it. */
    readonly upstreams: Procedure<
      "query",
      undefined,
      {
        /** The upstreams of the catalog. */
        readonly upstreams: readonly {
          /** The name of the upstream in the catalog. */
          readonly name: string;
          /** The circuit breaker. `closed`: healthy; `open`: no requests are sent; `half-open`: one request tests the upstream. */
          readonly breaker: "closed" | "half-open" | "open";
          /** Requests that the upstream is answering. */
          readonly inFlight: number;
          /** Requests that wait for a concurrency slot. */
          readonly waiting: number;
          /** Requests that succeeded since this node was started. */
          readonly successes: number;
          /** Requests that failed since this node was started. */
          readonly failures: number;
          /** The last failure; `null`: none since this node was started. */
          readonly lastFailure: {
            /** When the request failed. */
            readonly at: Date;
            /** Why it failed. */
            readonly reason: string;
          } | null;
          /**
           * Tokens of failed requests that the upstream has reported since this node was started and that no account is charged for, because
           * another attempt followed or nothing was answered. The provider may charge the operator for them.
           */
          readonly unbilledTokens: number;
          /** When the upstream last refused the service's credential; `null` if it accepted it since, or never refused it. */
          readonly credentialRefusedAt: Date | null;
        }[];
      }
    >;
    /** Checks an upstream of the catalog with its credential. */
    readonly testUpstream: Procedure<
      "mutation",
      {
        /** The name of the upstream in the catalog. */
        readonly name: string;
      },
      {
        /** What is wrong and what to do; `null`: the upstream answered. */
        readonly problem: string | null;
        /** The number of models that it lists. Sandbox upstreams answer in process and list none. */
        readonly models: number;
        /** How long it took, in milliseconds. */
        readonly durationMs: number;
      }
    >;
    /** The current catalog with its routes, without credentials. */
    readonly catalog: Procedure<
      "query",
      undefined,
      {
        /** The models, in the order of the catalog. */
        readonly models: readonly {
          /** The id of the model, which requests name. */
          readonly id: string;
          /** Other names by which requests may name the model. */
          readonly aliases: readonly string[];
          /** The organization that made the model. */
          readonly ownedBy: string;
          /** When the model was added to the catalog, in Unix seconds. */
          readonly created: number;
          /** Whether the sandbox answers, without a real model. */
          readonly sandbox: boolean;
          /** The maximum tokens of prompt and answer together; `null`: unknown. */
          readonly contextTokens: number | null;
          /** The maximum tokens of one answer; `null`: unknown. */
          readonly maxOutputTokens: number | null;
          /** What the model reads and writes. */
          readonly modalities: {
            /** What a prompt may contain. */
            readonly input: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
            /** What an answer may contain. */
            readonly output: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
          };
          /** Prices in nano-USD per million tokens; `null`: free. */
          readonly prices: {
            /** For prompt tokens. */
            readonly inputNanoUsdPerMTok: bigint;
            /** For prompt tokens read from the upstream's cache. */
            readonly cachedInputNanoUsdPerMTok: bigint;
            /** For prompt tokens written to the upstream's cache for 5 minutes, or for a time that the upstream does not tell. */
            readonly cacheWriteNanoUsdPerMTok: bigint;
            /** For prompt tokens written to the upstream's cache for an hour. */
            readonly cacheWrite1hNanoUsdPerMTok: bigint;
            /** For prompt tokens of recordings. */
            readonly audioInputNanoUsdPerMTok: bigint;
            /** For prompt tokens of images. */
            readonly imageInputNanoUsdPerMTok: bigint;
            /** For tokens of answers. */
            readonly outputNanoUsdPerMTok: bigint;
            /** For tokens of reasoning. */
            readonly reasoningNanoUsdPerMTok: bigint;
            /** For tokens of spoken answers. */
            readonly audioOutputNanoUsdPerMTok: bigint;
            /** For tokens of images in answers. */
            readonly imageOutputNanoUsdPerMTok: bigint;
            /** Nano-USD for each image in a prompt, in addition to its tokens. */
            readonly imageNanoUsd: bigint;
          } | null;
          /** The upstreams that serve the model, at least one. */
          readonly routes: readonly {
            /** Name of an upstream. */
            readonly upstream: string;
            /** What the upstream calls the model. */
            readonly model: string;
            /** Share of the requests that try this route first, relative to the model's other routes. */
            readonly weight: number;
          }[];
        }[];
        /** The upstreams that serve them. */
        readonly upstreams: readonly {
          /** The name of the upstream in the catalog. */
          readonly name: string;
          /** The name of a dialect. */
          readonly dialect: string;
          /** The URL up to the version, such as `https://api.openai.com/v1`. Empty: the dialect's own. */
          readonly baseUrl: string;
          /** The timeouts of a request, in milliseconds. */
          readonly timeouts: {
            /** Until the connection is established. */
            readonly connectMs: number;
            /** From the end of the request to the headers of the answer. */
            readonly firstByteMs: number;
            /** Between two chunks of the answer's body. */
            readonly idleMs: number;
            /** From the request to the end of the answer, however much of it arrives meanwhile. */
            readonly totalMs: number;
          };
          /** The maximum number of concurrent requests of this node to the upstream. */
          readonly maxConcurrency: number;
          /** The settings of its circuit breaker. */
          readonly breaker: {
            /** The number of consecutive failures that opens the breaker. */
            readonly failures: number;
            /** How many milliseconds the breaker stays open at first. The time doubles with each failed probe, up to a minute. */
            readonly openMs: number;
          };
          /** Whether the service sends a credential. */
          readonly hasCredential: boolean;
        }[];
      }
    >;
    /**
     * Usage of all accounts, in the form of `usage.summary`. The 50 accounts, or 200 models, with the highest cost in the
     * period have rows of their own. All others share one row per interval (`isOther`).
     */
    readonly usage: Procedure<
      "query",
      {
        /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
        readonly from: string | Date;
        /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
        readonly to: string | Date;
        /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
        readonly interval: "day" | "hour" | "month";
        /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
        readonly timeZone?: string | undefined;
        /** What has rows of its own in each interval. Default `none`. */
        readonly groupBy?: "account" | "model" | "none" | undefined;
      },
      {
        /** One row per interval and group, in order of time. Intervals without requests have none. */
        readonly rows: readonly {
          /** When the interval begins. */
          readonly start: Date;
          /**
           * The model; `null` unless rows are grouped by model. It is empty for requests that named none, and `unknown model` for all models
           * that the catalog does not have.
           */
          readonly model: string | null;
          /** The account; `null` unless rows are grouped by account. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
          } | null;
          /** Whether the row sums up the models or accounts without rows of their own. Neither is named then. */
          readonly isOther: boolean;
          /** The number of requests, including refused ones. */
          readonly requests: number;
          /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The tokens of the prompts. */
          readonly promptTokens: number;
          /** The tokens of the answers. */
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          /** The cost in nano-USD. */
          readonly costNanoUsd: bigint;
        }[];
        /** The sums over all rows. */
        readonly total: {
          /** The number of requests, including refused ones. */
          readonly requests: number;
          /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The tokens of the prompts. */
          readonly promptTokens: number;
          /** The tokens of the answers. */
          readonly completionTokens: number;
          /** The part of the prompts' tokens that an upstream read from its cache. */
          readonly cachedTokens: number;
          /** The cost in nano-USD. */
          readonly costNanoUsd: bigint;
        };
      }
    >;
    /** How fast the requests of all accounts were answered, in the form of `usage.performance`. */
    readonly performance: Procedure<
      "query",
      {
        /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
        readonly from: string | Date;
        /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
        readonly to: string | Date;
        /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
        readonly interval: "day" | "hour" | "month";
        /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
        readonly timeZone?: string | undefined;
      },
      {
        /** One row per interval with requests, in order of time. */
        readonly intervals: readonly {
          /** The number of requests that reached an upstream. */
          readonly requests: number;
          /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The time from the request to the end of the answer. */
          readonly latencyMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** The time from the request to the first token, of streams. */
          readonly timeToFirstTokenMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** When the interval begins. */
          readonly start: Date;
        }[];
        /** One row per upstream, the one with most requests first. */
        readonly upstreams: readonly {
          /** The number of requests that reached an upstream. */
          readonly requests: number;
          /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
          readonly errors: number;
          /** The time from the request to the end of the answer. */
          readonly latencyMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** The time from the request to the first token, of streams. */
          readonly timeToFirstTokenMs: {
            /** The median in milliseconds; `null`: no request has a value. */
            readonly p50: number | null;
            /** The 95th percentile in milliseconds; `null`: no request has a value. */
            readonly p95: number | null;
          };
          /** The name of the upstream. */
          readonly upstream: string;
        }[];
        /**
         * When the oldest request that was measured came in, if the period has more than the newest 20,000 requests, which are measured; `null`:
         * all were.
         */
        readonly measuredSince: Date | null;
      }
    >;
    /**
     * How each upstream answered the requests of all accounts, by interval: latency, time to first token, and errors by code. Measures the
     * newest 20,000 entries of the period.
     */
    readonly upstreamHistory: Procedure<
      "query",
      {
        /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
        readonly from: string | Date;
        /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
        readonly to: string | Date;
        /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
        readonly interval: "day" | "hour" | "month";
        /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
        readonly timeZone?: string | undefined;
      },
      {
        /** One row per upstream with requests, by name. */
        readonly upstreams: readonly {
          /** The name of the upstream. */
          readonly upstream: string;
          /** One row per interval with requests, in order of time. */
          readonly intervals: readonly {
            /** When the interval begins. */
            readonly start: Date;
            /** The error codes of requests that failed, also of those whose answer had begun with status 200, the most frequent first. */
            readonly errorCodes: readonly {
              /** The code. */
              readonly code: string;
              /** The number of requests. */
              readonly requests: number;
            }[];
            /** The number of requests that reached an upstream. */
            readonly requests: number;
            /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
            readonly errors: number;
            /** The time from the request to the end of the answer. */
            readonly latencyMs: {
              /** The median in milliseconds; `null`: no request has a value. */
              readonly p50: number | null;
              /** The 95th percentile in milliseconds; `null`: no request has a value. */
              readonly p95: number | null;
            };
            /** The time from the request to the first token, of streams. */
            readonly timeToFirstTokenMs: {
              /** The median in milliseconds; `null`: no request has a value. */
              readonly p50: number | null;
              /** The 95th percentile in milliseconds; `null`: no request has a value. */
              readonly p95: number | null;
            };
          }[];
        }[];
        /** As that of a `Performance`. */
        readonly measuredSince: Date | null;
      }
    >;
    /**
     * Security events, last seen first. Events of one hour that agree in every field are one row with a count. Events that
     * other nodes have seen in the last seconds may be missing. An event that recurs while pages are read moves to the front.
     */
    readonly security: Procedure<
      "query",
      | {
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of rows of the page: 1 to 200. Default 50. */
          readonly limit?: number | undefined;
          /** The kind of the events. Default: any. */
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
          /** The id of the account. Default: events of all accounts and of none. */
          readonly accountId?: string | undefined;
          /** The address that requests came from: an IP address or a CIDR block. */
          readonly source?: string | undefined;
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
        }
      | undefined,
      {
        /** The events of the page, the last seen first. */
        readonly events: readonly {
          /** The id of the event, a UUID. */
          readonly id: string;
          /** What happened. */
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
          /** How often it happened. */
          readonly count: number;
          /** When it happened first. */
          readonly firstAt: Date;
          /** When it happened last. */
          readonly lastAt: Date;
          /** The account of the key, the management token or the user; `null` if there is none. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
          } | null;
          /** Last 4 characters of the key; `null` for other events. */
          readonly keyId: string | null;
          /** The e-mail address of the user; `null` if there is none. */
          readonly userEmail: string | null;
          /** The address of the client; `null` if it is unknown or there is none. */
          readonly sourceIp: string | null;
          /** The name of the upstream that refused the credential; `null` for other events. */
          readonly upstream: string | null;
        }[];
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
    /** The audit trail of one account or of all, newest first. Each filter that is given must match. */
    readonly audit: Procedure<
      "query",
      | {
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of rows of the page: 1 to 200. Default 50. */
          readonly limit?: number | undefined;
          /** The id of the account. Default: all accounts. */
          readonly accountId?: string | undefined;
          /** The change. Default: any. */
          readonly action?:
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
            | "provider.check"
            | "token.create"
            | "token.revoke"
            | "upstream.test"
            | "user.changePassword"
            | "user.resetPassword"
            | "user.signOutAll"
            | "user.signUp"
            | undefined;
          /** The beginning of the e-mail address of the author: 1 to 254 characters. Default: any. */
          readonly author?: string | undefined;
          /** The address of the author, or a CIDR block. Default: any. */
          readonly source?: string | undefined;
          /** A part of the reason or the beginning of the account's name: 1 to 200 characters. Default: any. */
          readonly search?: string | undefined;
        }
      | undefined,
      {
        /** The changes of the page, newest first. */
        readonly actions: readonly {
          /** The id of the change, a UUID. */
          readonly id: string;
          /** The e-mail address of the author; `null` where `by` is. */
          readonly userEmail: string | null;
          /** Whether an operator made the change. */
          readonly byOperator: boolean;
          /** The name of the account; `null`: none. */
          readonly accountName: string | null;
          /** When the change was made. */
          readonly at: Date;
          /** The author of the change; `null`: the service itself, or an operator where the account's users read it. */
          readonly by: {
            /** The id of the user, a UUID. */
            readonly userId: string;
            /** The id of the management token that a script used; `null` for a session. */
            readonly managementToken: string | null;
            /** The address of the client; `null`: unknown. */
            readonly sourceIp: string | null;
          } | null;
          /** The id of the account that was changed; `null`: none, such as for a node. */
          readonly accountId: string | null;
          /** The change. */
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
            | "provider.check"
            | "token.create"
            | "token.revoke"
            | "upstream.test"
            | "user.changePassword"
            | "user.resetPassword"
            | "user.signOutAll"
            | "user.signUp";
          /** The reason that its author gave; `null`: none. */
          readonly reason: string | null;
          /** The parts that changed, before the change. `null`: nothing to show. */
          readonly before: {
            readonly [name: string]: unknown;
          } | null;
          /** The same parts after the change. `null`: nothing to show. */
          readonly after: {
            readonly [name: string]: unknown;
          } | null;
        }[];
        /** The `cursor` of the next page; `null` on the last page. */
        readonly nextCursor: string | null;
      }
    >;
    /** The whole audit trail as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    readonly exportActions: Procedure<
      "query",
      | {
          /** The position in the chain after which to begin: the `next` of the previous part. Default 0: at the beginning. */
          readonly after?: number | undefined;
          /** The maximum number of lines, 1 to 1,000. Default 1,000. */
          readonly limit?: number | undefined;
        }
      | undefined,
      {
        /** JSON, without line breaks, in the order of recording. */
        readonly lines: readonly string[];
        /** Pass it as `after` to continue; `null` at the end. */
        readonly next: number | null;
      }
    >;
    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    readonly verifyActions: Procedure<
      "query",
      | {
          /** The position in the chain after which to begin: the `next` of the previous part. Default 0: at the beginning. */
          readonly after?: number | undefined;
          /** A point that was kept earlier, which the chain must contain. */
          readonly expected?:
            | {
                /** Its position in the chain, from 1. */
                readonly position: number;
                /** Its digest: SHA-256, in hexadecimal. */
                readonly digest: string;
              }
            | undefined;
        }
      | undefined,
      {
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
      }
    >;
    /** Dangerous settings that this node was started with: a sentence or two each. */
    readonly warnings: Procedure<
      "query",
      undefined,
      {
        /** The warnings. Empty: there are none. */
        readonly warnings: readonly string[];
      }
    >;
    /** The state of the node that answers: version, stores, records, clock and breakers. */
    readonly status: Procedure<
      "query",
      undefined,
      {
        /** The version of the service. */
        readonly version: string;
        /** The runtime and its version, such as `node 20.19.0`. */
        readonly runtime: string;
        /** The id of the node, which it keeps in its data folder. */
        readonly nodeId: string;
        /** When the node was started. */
        readonly startedAt: Date;
        /** The schema of the database when the node was started. */
        readonly schema: {
          /** The number of its newest migration, such as `0018`. */
          readonly version: string | null;
          /** Migrations of a newer version of the service, with which this one works. Empty: none. */
          readonly newer: readonly string[];
        };
        /** PostgreSQL. */
        readonly database: {
          /** Which one it is: host and name, or the folder of the bundled one. */
          readonly label: string;
          /** Whether it answered when it was last asked, at most 5 seconds ago, and accepts writes. */
          readonly isUp: boolean;
          /** What it does instead, such as `refuses to write` or `does not answer`; `null`: it answers. */
          readonly problem: string | null;
          /** The time in which it answered, in milliseconds; `null`: it did not. */
          readonly pingMs: number | null;
          /** Open connections on which a statement or transaction runs. */
          readonly busyConnections: number;
          /** The maximum number of connections that the node opens for statements. */
          readonly maxConnections: number;
          /** Statements that wait for a connection. */
          readonly waitingStatements: number;
        };
        /** Redis; `null`: the node runs without it. */
        readonly redis: {
          /** Whether it answered when it was last asked, at most 5 seconds ago, and accepts writes. */
          readonly isUp: boolean;
          /** What it does instead, such as `refuses to write` or `does not answer`; `null`: it answers. */
          readonly problem: string | null;
          /** The time in which it answered, in milliseconds; `null`: it did not. */
          readonly pingMs: number | null;
          /** Whether it may evict keys, which lifts rate limits; `null`: it does not say. */
          readonly mayEvict: boolean | null;
        } | null;
        /** Whether the node admits no requests because it uses another Redis server than the other nodes. */
        readonly isFenced: boolean;
        /** Settings that other running nodes have with other values than this node. */
        readonly settingDifferences: readonly {
          /** Which setting: `plans`, `catalog` (models and routes), `prices`, or `responses` (keys and retention of stored responses). */
          readonly setting: "catalog" | "plans" | "prices" | "responses";
          /** The other nodes: host, process and data folder of each. */
          readonly nodes: readonly string[];
          /** When the answering node noticed it. */
          readonly since: Date;
          /** Whether it has lasted for 10 minutes, longer than most rolling changes take. */
          readonly isLasting: boolean;
        }[];
        /** Audit entries on their way to the database. */
        readonly recorder: {
          /** Entries in the journal that are not in the database yet. */
          readonly waitingEntries: number;
          /** The age of the oldest of them, in milliseconds. */
          readonly lagMs: number;
          /** Failed inserts of batches since the start. */
          readonly failures: number;
        };
        /** The journal of the node. */
        readonly journal: {
          /** Files that are still needed. */
          readonly segments: number;
          /** Lines that could not be read or recorded, and that an operator must replay or discard. */
          readonly rejectedLines: number;
        };
        /** Changes of all nodes, such as revocations, that are committed but not in force on every node. */
        readonly unpublishedChanges: number;
        /** The clock of the node minus that of the database, in milliseconds; `null`: not compared yet. */
        readonly clockSkewMs: number | null;
        /** When the TLS certificate in use expires; `null`: the node speaks HTTP. */
        readonly certificateExpiresAt: Date | null;
        /** The breaker of each upstream of the catalog. */
        readonly breakers: readonly {
          /** The name of the upstream in the catalog. */
          readonly upstream: string;
          /** `closed`: healthy; `open`: no requests are sent; `half-open`: one request tests the upstream. */
          readonly state: "closed" | "half-open" | "open";
          /** Whether it has rejected the service's credential since it last answered. */
          readonly isCredentialRefused: boolean;
        }[];
      }
    >;
    /** The accounts of the service. */
    readonly accounts: {
      /** Suspends an account. Once this has answered, every node refuses the keys and management tokens of the account. */
      readonly suspend: Procedure<
        "mutation",
        {
          /** The id of the account. */
          readonly id: string;
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason: string;
        },
        {
          /** The account after the change. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          };
          /** Other effects of the change, a sentence each. */
          readonly notices: readonly string[];
        }
      >;
      /** Ends the suspension of an account. */
      readonly reinstate: Procedure<
        "mutation",
        {
          /** The id of the account. */
          readonly id: string;
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason?: string | undefined;
        },
        {
          /** The account after the change. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          };
          /** Other effects of the change, a sentence each. */
          readonly notices: readonly string[];
        }
      >;
      /** Sets the plan. Existing keys stay, even if the new plan allows fewer. `notices` lists other effects of the change. */
      readonly setPlan: Procedure<
        "mutation",
        {
          /** The id of the account. */
          readonly id: string;
          /** The new plan. */
          readonly plan: "enterprise" | "free" | "pro";
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason?: string | undefined;
        },
        {
          /** The account after the change. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          };
          /** Other effects of the change, a sentence each. */
          readonly notices: readonly string[];
        }
      >;
      /** Replaces the IP rules, which are in force on the enterprise plan. */
      readonly setIpRules: Procedure<
        "mutation",
        {
          /** The id of the account. */
          readonly id: string;
          /** The new rules. */
          readonly rules: {
            /** `enforce` refuses requests from other addresses; `report` lets them pass and marks their entries. Default: the current mode. */
            readonly mode?: "enforce" | "report" | null | undefined;
            /** IPv4 and IPv6 addresses and CIDR blocks: up to 1,000. Empty: requests from every address pass. */
            readonly networks: readonly string[];
          };
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason?: string | undefined;
        },
        {
          /** The account after the change. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          };
          /** Other effects of the change, a sentence each. */
          readonly notices: readonly string[];
        }
      >;
      /** Tests an address against the account's rules, or against `rules` before they are set. */
      readonly tryIpRules: Procedure<
        "query",
        {
          /** The id of the account. */
          readonly id: string;
          /** The address to test. */
          readonly address: string;
          /** The rules to test it against. Default: those of the account. */
          readonly rules?:
            | {
                /** `enforce` refuses requests from other addresses; `report` lets them pass and marks their entries. Default `enforce`. */
                readonly mode?: "enforce" | "report" | undefined;
                /** IPv4 and IPv6 addresses and CIDR blocks: up to 1,000. Empty: requests from every address pass. */
                readonly networks: readonly string[];
              }
            | undefined;
        },
        {
          /** `passes`; `blocked`: it would be refused; `reported`: it would pass and be marked, as the rules are in report mode. */
          readonly verdict: "blocked" | "passes" | "reported";
        }
      >;
      /** Sets limits of the account's own. */
      readonly setLimits: Procedure<
        "mutation",
        {
          /** The id of the account. */
          readonly id: string;
          /** Limits to set: 1 to 1,000,000,000 each. `null` uses the plan's limit; one that is absent stays as it is. */
          readonly limits: {
            /** Requests in 60 seconds. */
            readonly requestsPerMinute?: number | null | undefined;
            /** Tokens of prompts and answers in 60 seconds. */
            readonly tokensPerMinute?: number | null | undefined;
            /** Requests that may be answered at the same time. */
            readonly concurrentRequests?: number | null | undefined;
          };
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason?: string | undefined;
        },
        {
          /** The account after the change. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          };
          /** Other effects of the change, a sentence each. */
          readonly notices: readonly string[];
        }
      >;
      /** Grants credit. A negative amount takes credit back, at most what the account has. */
      readonly grantCredits: Procedure<
        "mutation",
        {
          /** The id of the account. */
          readonly id: string;
          /** The amount in nano-USD: not 0, and at most 9 million USD either way. */
          readonly amountNanoUsd: bigint;
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason: string;
          /**
           * A value that is unique to this grant: 8 to 255 characters. A call that is repeated with it is booked once, and gets the first
           * answer again.
           */
          readonly idempotencyKey?: string | undefined;
        },
        {
          /** The new balance in nano-USD. */
          readonly balanceNanoUsd: bigint;
          /** The granted amount in nano-USD. It is smaller than requested if the account had less to take back. */
          readonly amountNanoUsd: bigint;
        }
      >;
      /** The keys of an account, in the form of `keys.list`. */
      readonly keys: Procedure<
        "query",
        {
          /** The `nextCursor` of the previous page. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** The maximum number of keys of the page: 1 to 1,000. Default 1,000. */
          readonly limit?: number | undefined;
          /** Lists keys whose name or key ID contains this text, upper and lower case alike: 1 to 64 characters. */
          readonly search?: string | undefined;
          /** The id of the account. */
          readonly id: string;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
        },
        {
          /** The keys of the page. */
          readonly keys: readonly {
            /** How much the key is used. */
            readonly usage: {
              /** When the last request arrived; `null`: never used. */
              readonly lastUsedAt: Date | null;
              /** The address of the last request; `null` if the key was never used or the address is unknown. */
              readonly lastUsedIp: string | null;
              /** The number of client addresses in the last 30 days. */
              readonly addresses: number;
              /** Requests in the last 60 seconds. */
              readonly requestsLastMinute: number;
              /** Requests in the present minute and the 60 before it. */
              readonly requestsLastHour: number;
              /** Requests in the present minute and the 1,440 before it. */
              readonly requestsLastDay: number;
            };
            /** How far the successor has taken over; `null`: `rotate` has created none. */
            readonly rotation: {
              /** The id of the successor. */
              readonly successorId: string;
              /** Seconds without a request after which the old key counts as idle. */
              readonly idleAfterSeconds: number;
              /** Since when the old key has been unused: its last request, or the creation of the successor if that was later. */
              readonly idleSince: Date;
              /** Whether the old key has been unused for `idleAfterSeconds`. Revoking it remains the owner's decision. */
              readonly isIdle: boolean;
            } | null;
            /** The id of the key, a UUID. */
            readonly id: string;
            /** The name of the key. */
            readonly name: string;
            /** Last 4 characters of the key string. */
            readonly keyId: string;
            /** Whether requests with the key are accepted. */
            readonly state: "active" | "revoked";
            /** When the key was created. */
            readonly createdAt: Date;
            /** When the key was revoked; `null`: it is active. */
            readonly revokedAt: Date | null;
            /** The id of the key that this one was created to replace; `null`: none. */
            readonly replaces: string | null;
          }[];
          /** The `cursor` of the next page; `null` on the last page. */
          readonly nextCursor: string | null;
        }
      >;
      /** The usage of an account, in the form of `usage.summary`. */
      readonly usage: Procedure<
        "query",
        {
          /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
          readonly from: string | Date;
          /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
          readonly to: string | Date;
          /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
          readonly interval: "day" | "hour" | "month";
          /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
          readonly timeZone?: string | undefined;
          /** The id of the account. */
          readonly id: string;
          /** What has rows of its own in each interval. Default `none`. */
          readonly groupBy?: "key" | "model" | "none" | undefined;
        },
        {
          /** One row per interval and group, in order of time. Intervals without requests have none. */
          readonly rows: readonly {
            /** When the interval begins. */
            readonly start: Date;
            /**
             * The model; `null` unless rows are grouped by model. It is empty for requests that named none, and `unknown model` for all models
             * that the catalog does not have.
             */
            readonly model: string | null;
            /** The key; `null` unless rows are grouped by key. */
            readonly key: {
              /** The id of the key, a UUID. */
              readonly id: string;
              /** Last 4 characters of the key string. */
              readonly keyId: string;
              /** The name of the key. */
              readonly name: string;
            } | null;
            /** Whether the row sums up the models or keys without rows of their own. Neither is named then. */
            readonly isOther: boolean;
            /** The number of requests, including refused ones. */
            readonly requests: number;
            /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
            readonly errors: number;
            /** The tokens of the prompts. */
            readonly promptTokens: number;
            /** The tokens of the answers. */
            readonly completionTokens: number;
            /** The part of the prompts' tokens that an upstream read from its cache. */
            readonly cachedTokens: number;
            /** The cost in nano-USD. */
            readonly costNanoUsd: bigint;
          }[];
          /** The sums over all rows. */
          readonly total: {
            /** The number of requests, including refused ones. */
            readonly requests: number;
            /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
            readonly errors: number;
            /** The tokens of the prompts. */
            readonly promptTokens: number;
            /** The tokens of the answers. */
            readonly completionTokens: number;
            /** The part of the prompts' tokens that an upstream read from its cache. */
            readonly cachedTokens: number;
            /** The cost in nano-USD. */
            readonly costNanoUsd: bigint;
          };
        }
      >;
      /** How fast the requests of an account were answered, in the form of `usage.performance`. */
      readonly performance: Procedure<
        "query",
        {
          /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in the time zone. */
          readonly from: string | Date;
          /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in the time zone is included. */
          readonly to: string | Date;
          /** The length of the intervals. A summary covers up to 31 days by hour, 3 years by day and 20 years by month. */
          readonly interval: "day" | "hour" | "month";
          /** The time zone of days, months, and dates in `from` and `to`, such as `Europe/Berlin`. Periods of more than a year are in UTC only. Default `UTC`. */
          readonly timeZone?: string | undefined;
          /** The id of the account. */
          readonly id: string;
        },
        {
          /** One row per interval with requests, in order of time. */
          readonly intervals: readonly {
            /** The number of requests that reached an upstream. */
            readonly requests: number;
            /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
            readonly errors: number;
            /** The time from the request to the end of the answer. */
            readonly latencyMs: {
              /** The median in milliseconds; `null`: no request has a value. */
              readonly p50: number | null;
              /** The 95th percentile in milliseconds; `null`: no request has a value. */
              readonly p95: number | null;
            };
            /** The time from the request to the first token, of streams. */
            readonly timeToFirstTokenMs: {
              /** The median in milliseconds; `null`: no request has a value. */
              readonly p50: number | null;
              /** The 95th percentile in milliseconds; `null`: no request has a value. */
              readonly p95: number | null;
            };
            /** When the interval begins. */
            readonly start: Date;
          }[];
          /** One row per upstream, the one with most requests first. */
          readonly upstreams: readonly {
            /** The number of requests that reached an upstream. */
            readonly requests: number;
            /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
            readonly errors: number;
            /** The time from the request to the end of the answer. */
            readonly latencyMs: {
              /** The median in milliseconds; `null`: no request has a value. */
              readonly p50: number | null;
              /** The 95th percentile in milliseconds; `null`: no request has a value. */
              readonly p95: number | null;
            };
            /** The time from the request to the first token, of streams. */
            readonly timeToFirstTokenMs: {
              /** The median in milliseconds; `null`: no request has a value. */
              readonly p50: number | null;
              /** The 95th percentile in milliseconds; `null`: no request has a value. */
              readonly p95: number | null;
            };
            /** The name of the upstream. */
            readonly upstream: string;
          }[];
          /**
           * When the oldest request that was measured came in, if the period has more than the newest 20,000 requests, which are measured; `null`:
           * all were.
           */
          readonly measuredSince: Date | null;
        }
      >;
      /** The entries of an account's audit log, newest first, in the form of `audit.list`. */
      readonly entries: Procedure<
        "query",
        {
          /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC. */
          readonly from?: string | Date | undefined;
          /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
          readonly to?: string | Date | undefined;
          /** The id of a key, or its key ID: the last 4 characters of the key string. */
          readonly key?: string | undefined;
          /** The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters. */
          readonly model?: string | undefined;
          /** The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters. */
          readonly upstream?: string | undefined;
          /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
          readonly status?: string | undefined;
          /** An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`. */
          readonly error_code?: string | undefined;
          /** The address that requests came from: an IP address or a CIDR block. */
          readonly source?: string | undefined;
          /** The `nextCursor` of the previous page, which had the same filters. Omit it for the first page. */
          readonly cursor?: string | undefined;
          /** Has no effect. Infinite queries of TanStack Query send it. */
          readonly direction?: "forward" | undefined;
          /** The maximum number of entries of the page: 1 to 1,000. Default 50. */
          readonly limit?: number | undefined;
          /** The id of the account. */
          readonly id: string;
        },
        {
          /** The entries of the page, newest first. */
          readonly entries: readonly {
            /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
            readonly keyName: string;
            /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
            readonly requestId: string;
            /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
            readonly timestamp: Date;
            /** Prompt and completion tokens together; `null`: unknown. */
            readonly tokenCount: number | null;
            /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
            readonly audioTokens: number | null;
            /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
            readonly cacheWrite1hTokens: number | null;
            /**
             * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
             * unknown.
             */
            readonly cacheWriteTokens: number | null;
            /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
            readonly cachedTokens: number | null;
            /** The tokens of the answer; `null`: unknown. */
            readonly completionTokens: number | null;
            /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
            readonly costNanoUsd: bigint;
            /**
             * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
             * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
             * service stopped; `node_lost`: the process died, so that the outcome is unknown.
             */
            readonly endReason:
              | "client_gone"
              | "node_lost"
              | "refused"
              | "shutdown"
              | "stop"
              | "timeout"
              | "upstream_error";
            /** Method and path of the operation, such as `POST /v1/chat/completions`. */
            readonly endpoint: string;
            /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
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
            /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
            readonly id: string;
            /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
            readonly imageTokens: number | null;
            /** Last 4 characters of the key string. */
            readonly keyId: string;
            /** Milliseconds from the arrival of the request to the end of the answer. */
            readonly latencyMs: number;
            /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
            readonly model: string | null;
            /** The tokens of the prompt; `null`: unknown. */
            readonly promptTokens: number | null;
            /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
            readonly reasoningTokens: number | null;
            /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
            readonly sourceIp: string | null;
            /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
            readonly status: number;
            /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
            readonly timeToFirstTokenMs: number | null;
            /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
            readonly upstream: string | null;
            /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
            readonly usageSource: "estimated" | "none" | "upstream";
            /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
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
          /** The `cursor` of the next page; `null` on the last page. */
          readonly nextCursor: string | null;
        }
      >;
      /** Accounts, newest first or in another order. */
      readonly list: Procedure<
        "query",
        | {
            /** Has no effect. Infinite queries of TanStack Query send it. */
            readonly direction?: "forward" | undefined;
            /** The maximum number of rows of the page: 1 to 200. Default 50. */
            readonly limit?: number | undefined;
            /** The beginning of a name or of a user's e-mail address, an id, or the last four characters of a key: up to 254 characters. Default: all accounts. */
            readonly search?: string | undefined;
            /** The state of the accounts. Default: any. */
            readonly state?: "active" | "suspended" | undefined;
            /** The plan of the accounts. Default: any. */
            readonly plan?: "enterprise" | "free" | "pro" | undefined;
            /**
             * What the accounts are sorted by: `created`, their `balance`, or their `cost` or `requests` of the last 30 days. A balance or usage
             * that changes while you read pages may leave its account out or repeat it. Default `created`.
             */
            readonly order?: "balance" | "cost" | "created" | "requests" | undefined;
            /** Whether the oldest or the lowest are first. Default `false`: the newest or the highest are. */
            readonly ascending?: boolean | undefined;
            /** The `nextCursor` of the previous page, which had the same filters and order. Omit it for the first page. */
            readonly cursor?: string | undefined;
          }
        | undefined,
        {
          /** The accounts of the page, in the requested order. */
          readonly accounts: readonly {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The users who can sign in to the account. */
            readonly users: readonly {
              /** The id of the user, a UUID. */
              readonly id: string;
              /** The e-mail address, in lower case. */
              readonly email: string;
            }[];
            /** The number of active keys. */
            readonly activeKeys: number;
            /** The balance in nano-USD, including what nodes have reserved. */
            readonly balanceNanoUsd: bigint;
            /** The requests of the last 30 UTC days, today included. */
            readonly recentRequests: number;
            /** The cost of these requests in nano-USD. */
            readonly recentCostNanoUsd: bigint;
            /** The beginning of the UTC hour of the latest request; `null`: there was none. */
            readonly lastRequestHour: Date | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          }[];
          /** The number of accounts that match, on all pages; `null` on pages after the first. */
          readonly total: number | null;
          /** The `cursor` of the next page; `null` on the last page. */
          readonly nextCursor: string | null;
        }
      >;
      /** One account. */
      readonly get: Procedure<
        "query",
        {
          /** The id of the account. */
          readonly id: string;
        },
        {
          /** The id of the account, a UUID. */
          readonly id: string;
          /** The name of the account. */
          readonly name: string;
          /** The plan, which sets limits and retention. */
          readonly plan: "enterprise" | "free" | "pro";
          /** Whether the account's keys and tokens are accepted. */
          readonly state: "active" | "suspended";
          /** When and why the account was suspended; `null` while it is active. */
          readonly suspension: {
            /** When the account was suspended. */
            readonly at: Date;
            /** The reason that the operator gave. */
            readonly reason: string;
          } | null;
          /** The users who can sign in to the account. */
          readonly users: readonly {
            /** The id of the user, a UUID. */
            readonly id: string;
            /** The e-mail address, in lower case. */
            readonly email: string;
          }[];
          /** The number of active keys. */
          readonly activeKeys: number;
          /** The balance in nano-USD, including what nodes have reserved. */
          readonly balanceNanoUsd: bigint;
          /** The requests of the last 30 UTC days, today included. */
          readonly recentRequests: number;
          /** The cost of these requests in nano-USD. */
          readonly recentCostNanoUsd: bigint;
          /** The beginning of the UTC hour of the latest request; `null`: there was none. */
          readonly lastRequestHour: Date | null;
          /** The addresses from which the keys may be used. */
          readonly ipRules: {
            /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
            readonly mode: "enforce" | "report";
            /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
            readonly networks: readonly string[];
          };
          /** The account's own limits. `null`: the limit of the plan. */
          readonly limits: {
            /** Requests in 60 seconds. */
            readonly requestsPerMinute: number | null;
            /** Tokens of prompts and answers in 60 seconds. */
            readonly tokensPerMinute: number | null;
            /** Requests that may be answered at the same time. */
            readonly concurrentRequests: number | null;
          };
          /** When the account was created. */
          readonly createdAt: Date;
        }
      >;
      /** Creates an account with its first user, also while sign-up is closed. The answer contains the first user's password; it cannot be read again. */
      readonly create: Procedure<
        "mutation",
        {
          /** The e-mail address of the first user: up to 254 characters. */
          readonly email: string;
          /** The name of the new account: 1 to 80 characters. */
          readonly accountName: string;
          /** The plan. Default `free`. */
          readonly plan?: "enterprise" | "free" | "pro" | undefined;
        },
        {
          /** The new account. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
            /** The plan, which sets limits and retention. */
            readonly plan: "enterprise" | "free" | "pro";
            /** Whether the account's keys and tokens are accepted. */
            readonly state: "active" | "suspended";
            /** When and why the account was suspended; `null` while it is active. */
            readonly suspension: {
              /** When the account was suspended. */
              readonly at: Date;
              /** The reason that the operator gave. */
              readonly reason: string;
            } | null;
            /** The users who can sign in to the account. */
            readonly users: readonly {
              /** The id of the user, a UUID. */
              readonly id: string;
              /** The e-mail address, in lower case. */
              readonly email: string;
            }[];
            /** The number of active keys. */
            readonly activeKeys: number;
            /** The balance in nano-USD, including what nodes have reserved. */
            readonly balanceNanoUsd: bigint;
            /** The requests of the last 30 UTC days, today included. */
            readonly recentRequests: number;
            /** The cost of these requests in nano-USD. */
            readonly recentCostNanoUsd: bigint;
            /** The beginning of the UTC hour of the latest request; `null`: there was none. */
            readonly lastRequestHour: Date | null;
            /** The addresses from which the keys may be used. */
            readonly ipRules: {
              /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
              readonly mode: "enforce" | "report";
              /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
              readonly networks: readonly string[];
            };
            /** The account's own limits. `null`: the limit of the plan. */
            readonly limits: {
              /** Requests in 60 seconds. */
              readonly requestsPerMinute: number | null;
              /** Tokens of prompts and answers in 60 seconds. */
              readonly tokensPerMinute: number | null;
              /** Requests that may be answered at the same time. */
              readonly concurrentRequests: number | null;
            };
            /** When the account was created. */
            readonly createdAt: Date;
          };
          /** The password of its first user, which cannot be read again. */
          readonly password: string;
        }
      >;
    };
    /** The users of accounts. */
    readonly users: {
      /**
       * Sets a new random password and ends the user's sessions. Revokes their management tokens too, unless `revokeTokens` is
       * `false`. The answer contains the password; it cannot be read again.
       */
      readonly resetPassword: Procedure<
        "mutation",
        {
          /** The e-mail address of the user. */
          readonly email: string;
          /** Whether the user's management tokens are revoked, too. Default `true`. */
          readonly revokeTokens?: boolean | undefined;
        },
        {
          /** The new password, which cannot be read again. */
          readonly password: string;
          /** The number of management tokens that were revoked. */
          readonly revokedTokens: number;
        }
      >;
    };
    /** The audit log of all accounts. */
    readonly log: {
      /**
       * Entries of all accounts, newest first, in the form of `audit.list` with their accounts. If few of many entries match, a page may
       * have fewer entries than `limit`, or none. Requests that end while pages are read may be missing in later pages.
       */
      readonly list: Procedure<
        "query",
        | {
            /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC. */
            readonly from?: string | Date | undefined;
            /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
            readonly to?: string | Date | undefined;
            /** The id of a key, or its key ID: the last 4 characters of the key string. */
            readonly key?: string | undefined;
            /** The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters. */
            readonly model?: string | undefined;
            /** The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters. */
            readonly upstream?: string | undefined;
            /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
            readonly status?: string | undefined;
            /** An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`. */
            readonly error_code?: string | undefined;
            /** The address that requests came from: an IP address or a CIDR block. */
            readonly source?: string | undefined;
            /** The `nextCursor` of the previous page, which had the same filters. Omit it for the first page. */
            readonly cursor?: string | undefined;
            /** Has no effect. Infinite queries of TanStack Query send it. */
            readonly direction?: "forward" | undefined;
            /** The maximum number of entries of the page: 1 to 1,000. Default 50. */
            readonly limit?: number | undefined;
            /** The id of an account. Default: all accounts. */
            readonly accountId?: string | undefined;
          }
        | undefined,
        {
          /** The entries of the page, newest first. */
          readonly entries: readonly {
            /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
            readonly keyName: string;
            /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
            readonly requestId: string;
            /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
            readonly timestamp: Date;
            /** Prompt and completion tokens together; `null`: unknown. */
            readonly tokenCount: number | null;
            /** The account that made the request. */
            readonly account: {
              /** The id of the account, a UUID. */
              readonly id: string;
              /** The name of the account. */
              readonly name: string;
            };
            /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
            readonly audioTokens: number | null;
            /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
            readonly cacheWrite1hTokens: number | null;
            /**
             * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
             * unknown.
             */
            readonly cacheWriteTokens: number | null;
            /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
            readonly cachedTokens: number | null;
            /** The tokens of the answer; `null`: unknown. */
            readonly completionTokens: number | null;
            /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
            readonly costNanoUsd: bigint;
            /**
             * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
             * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
             * service stopped; `node_lost`: the process died, so that the outcome is unknown.
             */
            readonly endReason:
              | "client_gone"
              | "node_lost"
              | "refused"
              | "shutdown"
              | "stop"
              | "timeout"
              | "upstream_error";
            /** Method and path of the operation, such as `POST /v1/chat/completions`. */
            readonly endpoint: string;
            /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
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
            /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
            readonly id: string;
            /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
            readonly imageTokens: number | null;
            /** Last 4 characters of the key string. */
            readonly keyId: string;
            /** Milliseconds from the arrival of the request to the end of the answer. */
            readonly latencyMs: number;
            /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
            readonly model: string | null;
            /** The tokens of the prompt; `null`: unknown. */
            readonly promptTokens: number | null;
            /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
            readonly reasoningTokens: number | null;
            /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
            readonly sourceIp: string | null;
            /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
            readonly status: number;
            /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
            readonly timeToFirstTokenMs: number | null;
            /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
            readonly upstream: string | null;
            /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
            readonly usageSource: "estimated" | "none" | "upstream";
            /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
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
          /** The `cursor` of the next page; `null` on the last page. */
          readonly nextCursor: string | null;
        }
      >;
      /** The entry of one request, of any account. */
      readonly get: Procedure<
        "query",
        {
          /** The `x-request-id` of the answer to the request. */
          readonly requestId: string;
        },
        {
          /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
          readonly keyName: string;
          /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
          readonly requestId: string;
          /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
          readonly timestamp: Date;
          /** Prompt and completion tokens together; `null`: unknown. */
          readonly tokenCount: number | null;
          /** The account that made the request. */
          readonly account: {
            /** The id of the account, a UUID. */
            readonly id: string;
            /** The name of the account. */
            readonly name: string;
          };
          /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
          readonly audioTokens: number | null;
          /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
          readonly cacheWrite1hTokens: number | null;
          /**
           * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
           * unknown.
           */
          readonly cacheWriteTokens: number | null;
          /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
          readonly cachedTokens: number | null;
          /** The tokens of the answer; `null`: unknown. */
          readonly completionTokens: number | null;
          /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
          readonly costNanoUsd: bigint;
          /**
           * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
           * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
           * service stopped; `node_lost`: the process died, so that the outcome is unknown.
           */
          readonly endReason:
            | "client_gone"
            | "node_lost"
            | "refused"
            | "shutdown"
            | "stop"
            | "timeout"
            | "upstream_error";
          /** Method and path of the operation, such as `POST /v1/chat/completions`. */
          readonly endpoint: string;
          /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
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
          /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
          readonly id: string;
          /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
          readonly imageTokens: number | null;
          /** Last 4 characters of the key string. */
          readonly keyId: string;
          /** Milliseconds from the arrival of the request to the end of the answer. */
          readonly latencyMs: number;
          /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
          readonly model: string | null;
          /** The tokens of the prompt; `null`: unknown. */
          readonly promptTokens: number | null;
          /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
          readonly reasoningTokens: number | null;
          /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
          readonly sourceIp: string | null;
          /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
          readonly status: number;
          /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
          readonly timeToFirstTokenMs: number | null;
          /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
          readonly upstream: string | null;
          /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
          readonly usageSource: "estimated" | "none" | "upstream";
          /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
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
        }
      >;
      /** Sums of the entries of all accounts that match, in the form of `audit.summary`. */
      readonly summary: Procedure<
        "query",
        | {
            /** The beginning of the period, included: an RFC 3339 time, or a date, which means the beginning of that day in UTC. */
            readonly from?: string | Date | undefined;
            /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
            readonly to?: string | Date | undefined;
            /** The id of a key, or its key ID: the last 4 characters of the key string. */
            readonly key?: string | undefined;
            /** The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters. */
            readonly model?: string | undefined;
            /** The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters. */
            readonly upstream?: string | undefined;
            /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
            readonly status?: string | undefined;
            /** An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`. */
            readonly error_code?: string | undefined;
            /** The address that requests came from: an IP address or a CIDR block. */
            readonly source?: string | undefined;
            /** The id of an account. Default: all accounts. */
            readonly accountId?: string | undefined;
          }
        | undefined,
        {
          /** The sums over all entries that were counted. */
          readonly total: {
            /** The number of requests, including refused ones. */
            readonly requests: number;
            /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
            readonly errors: number;
            /** The tokens of the prompts. */
            readonly promptTokens: number;
            /** The tokens of the answers. */
            readonly completionTokens: number;
            /** The cost in nano-USD. */
            readonly costNanoUsd: bigint;
          };
          /** The time up to which older entries were not counted, because there are too many; `null`: all were counted. */
          readonly countedFrom: Date | null;
          /** The length of an interval of the histogram in milliseconds. */
          readonly bucketMs: number;
          /** The intervals of the histogram, in order of time, without gaps: at most 100. Empty without entries. */
          readonly buckets: readonly {
            /** When the interval begins. */
            readonly start: Date;
            /** The number of requests, including refused ones. */
            readonly requests: number;
            /** The requests that failed. */
            readonly errors: number;
          }[];
          /** The models with the most requests, at most 100. */
          readonly models: readonly {
            /** The value. */
            readonly value: string;
            /** The number of requests. */
            readonly requests: number;
          }[];
          /** The error codes with the most requests, at most 100. */
          readonly errorCodes: readonly {
            /** The value. */
            readonly value: string;
            /** The number of requests. */
            readonly requests: number;
          }[];
          /** The statuses with the most requests, at most 100. */
          readonly statuses: readonly {
            /** The value. */
            readonly value: string;
            /** The number of requests. */
            readonly requests: number;
          }[];
          /** The upstreams with the most requests, at most 100. */
          readonly upstreams: readonly {
            /** The value. */
            readonly value: string;
            /** The number of requests. */
            readonly requests: number;
          }[];
        }
      >;
    };
    /** Connecting providers of models. */
    readonly providers: {
      /**
       * Lists a provider's models, which shows whether it accepts the credential. The service sends one request, waits up to 10
       * seconds and follows no redirect. The audit trail records the address. The credential is not stored.
       */
      readonly check: Procedure<
        "mutation",
        {
          /** The dialect that the provider speaks. */
          readonly dialect: "anthropic" | "google" | "openai" | "openai-responses";
          /** The URL up to the version, such as `https://api.openai.com/v1`. */
          readonly baseUrl: string;
          /** The credential, up to 4,096 printable characters; `null`: the provider needs none. */
          readonly credential: string | null;
        },
        {
          /** The ids of the provider's models: up to 1,000. Empty if there is a problem. */
          readonly models: readonly string[];
          /** What is wrong and what to do; `null`: the provider accepts the credential. */
          readonly problem: string | null;
        }
      >;
      /** A catalog file with one provider, checked as the service checks it when it starts. */
      readonly catalog: Procedure<
        "query",
        {
          /** The name of the upstream: 1 to 64 letters, digits, dots, hyphens and underscores. */
          readonly name: string;
          /** The dialect that the provider speaks. */
          readonly dialect: "anthropic" | "google" | "openai" | "openai-responses";
          /** The URL up to the version, such as `https://api.openai.com/v1`. */
          readonly baseUrl: string;
          /** The environment variable of the credential; `null`: the provider needs none. */
          readonly credentialEnv: string | null;
          /** The names of models at the provider: 1 to 100. */
          readonly models: readonly string[];
        },
        {
          /** The catalog file, in YAML. */
          readonly yaml: string;
        }
      >;
    };
    /** The nodes of the service, as far as they reserve credit. */
    readonly nodes: {
      /**
       * The nodes that hold reserved credit: a row for each start of a node. The row of a node that has ended stays until the
       * node is started again or its credit is released.
       */
      readonly list: Procedure<
        "query",
        undefined,
        {
          /** The nodes. */
          readonly nodes: readonly {
            /** The number of this start of the node, which `operator.nodes.release` takes. */
            readonly id: bigint;
            /** The id of the node, which it keeps when it is started again. */
            readonly nodeId: string;
            /** The host and process of the node, for people to read. */
            readonly label: string;
            /** When the node was last seen. */
            readonly seenAt: Date;
            /** Whether it has not been seen for a minute. Other nodes can't spend what it has reserved. */
            readonly isAway: boolean;
            /** The number of accounts whose credit it has reserved. */
            readonly accounts: number;
            /** The credit that it has reserved, in nano-USD. */
            readonly reservedNanoUsd: bigint;
          }[];
        }
      >;
      /**
       * Compares the settings that all nodes must share: plans, catalog, prices, and the keys and retention of stored responses. Only nodes
       * of the same version are compared.
       */
      readonly settings: Procedure<
        "query",
        undefined,
        {
          /** The running nodes. The first one is the node that answers. */
          readonly nodes: readonly {
            /** The id of the node, which it keeps in its data folder. */
            readonly nodeId: string;
            /** The host, process and data folder of the node, for people to read. */
            readonly label: string;
            /** The version of the service; `null`: one that does not report its settings. */
            readonly version: string | null;
            /** Keyed digests of the settings that nodes must share; `null`: the node does not report them. */
            readonly digests: {
              /** Of the plans. */
              readonly plans: string;
              /** Of the models and their routes. */
              readonly catalog: string;
              /** Of the prices of the models. */
              readonly prices: string;
              /** Of the keys and the retention of stored responses. */
              readonly responses: string;
            } | null;
          }[];
          /** The settings that others have with other values than the node that answers. Empty: there are none. */
          readonly differences: readonly {
            /** Which setting: `plans`, `catalog` (models and routes), `prices`, or `responses` (keys and retention of stored responses). */
            readonly setting: "catalog" | "plans" | "prices" | "responses";
            /** The other nodes: host, process and data folder of each. */
            readonly nodes: readonly string[];
            /** When the answering node noticed it. */
            readonly since: Date;
            /** Whether it has lasted for 10 minutes, longer than most rolling changes take. */
            readonly isLasting: boolean;
          }[];
        }
      >;
      /**
       * Releases the credit that a node has reserved, when the node will not return. If it returns after all, its pending
       * charges are collected as far as the accounts' credit reaches; the rest is recorded as uncollected. The same happens to
       * the requests that a running node is answering, so a node that was seen in the last minute is refused (`conflict`).
       */
      readonly release: Procedure<
        "mutation",
        {
          /** The `id` of the node in the list. */
          readonly id: bigint;
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason: string;
          /** Whether to release the credit of a node that was seen in the last minute, too. Default `false`. */
          readonly force?: boolean | undefined;
        },
        {
          /** The number of accounts whose credit was released. */
          readonly accounts: number;
          /** The released credit in nano-USD. */
          readonly amountNanoUsd: bigint;
        }
      >;
    };
    /** Reconciliation: compares balances with ledgers and usage with audit entries, and reports reserved credit. */
    readonly checkBooks: Procedure<
      "query",
      | {
          /** The past hours of usage to compare: 1 to 8,784, and at most the shortest retention of all plans. Default 24. */
          readonly hours?: number | undefined;
        }
      | undefined,
      {
        /**
         * Accounts whose balance is negative or not the sum of their ledger, or whose costs by day are not the sum of its charges, up to 100.
         * There should be none.
         */
        readonly mismatches: readonly {
          /** The id of the account. */
          readonly accountId: string;
          /** The sum of the account's ledger, in nano-USD. */
          readonly ledgerNanoUsd: bigint;
          /** The balance in nano-USD, including the reserved part. */
          readonly balanceNanoUsd: bigint;
          /** The part of the balance that nodes have reserved for requests, in nano-USD. */
          readonly reservedNanoUsd: bigint;
        }[];
        /** Sums of usage that differ from what they sum up, up to 100. There should be none. */
        readonly usageMismatches: readonly {
          /** The id of the account; `null`: the whole service. */
          readonly accountId: string | null;
          /** What differs: an `hour` from its entries, a `day` from its hours, or a `month` from its days. */
          readonly interval: "day" | "hour" | "month";
          /** When the interval begins, in UTC. */
          readonly start: Date;
          /** The id of the key; `null`: all keys. */
          readonly key: string | null;
          /** The model; `null`: all models. */
          readonly model: string | null;
        }[];
        /** The start of the period in which usage was compared and uncollected amounts were added up. */
        readonly since: Date;
        /** The credit that all nodes have reserved. */
        readonly reserved: {
          /** The number of reserves with credit: one for each node and account. */
          readonly reservations: number;
          /** The reserved credit in nano-USD. */
          readonly nanoUsd: bigint;
          /** The part of it that nodes hold which have not been seen for a minute. */
          readonly stuckNanoUsd: bigint;
        };
        /** Amounts that accounts did not pay since then, by reason. */
        readonly uncollected: readonly {
          /** Why the amounts were not paid: see the `reason` of a ledger's transaction. */
          readonly reason: string;
          /** The number of accounts. */
          readonly accounts: number;
          /** The sum of the amounts in nano-USD. */
          readonly nanoUsd: bigint;
        }[];
        /** The holds of requests on this node. */
        readonly held: {
          /** The number of requests with a hold. */
          readonly holds: number;
          /** The sum of the holds in nano-USD. */
          readonly nanoUsd: bigint;
        };
        /** When the comparison was made. */
        readonly checkedAt: Date;
      }
    >;
    /** Lines of the answering node's journal that could not be read or recorded. */
    readonly journal: {
      /** Lists the lines, with the beginning of each. */
      readonly list: Procedure<
        "query",
        | {
            /** The maximum number of lines: 1 to 1,000. Default 100. */
            readonly limit?: number | undefined;
          }
        | undefined,
        {
          /** The name of the node that answered. */
          readonly node: string;
          /** The journal's folder on that node. */
          readonly folder: string;
          /** The lines, as many as were requested. */
          readonly lines: readonly {
            /** The id of the line: 12 hexadecimal digits, which depend on its content only. */
            readonly id: string;
            /** The file in the journal's folder. */
            readonly file: string;
            /** The number of the line in its file, from 1. */
            readonly line: number;
            /** The length of the line in bytes. */
            readonly bytes: number;
            /** Whether the line is of a request that has ended or only begun, or can't be read. */
            readonly kind: "begun" | "ended" | "unreadable";
            /** Why the line can't be read; `null` if it can. Then the database has refused it, and replaying it shows why. */
            readonly problem: string | null;
            /** The request of the line; `null` if it can't be read. */
            readonly request: {
              /** The id that the client received in `x-request-id`. */
              readonly requestId: string;
              /** The id of the account that made the request. */
              readonly accountId: string;
              /** When the request arrived. */
              readonly at: Date;
              /** The cost of the request in nano-USD. */
              readonly costNanoUsd: bigint;
            } | null;
            /** The beginning of the line. */
            readonly text: string;
          }[];
          /** How many more lines there are. */
          readonly more: number;
          /** Files and folders that can't be read. */
          readonly files: readonly {
            /** The path of the file or folder. */
            readonly file: string;
            /** Why it cannot be read. */
            readonly problem: string;
          }[];
        }
      >;
      /** One line, with up to 64 KiB of its text. */
      readonly get: Procedure<
        "query",
        {
          /** The id of the line. */
          readonly id: string;
        },
        {
          /** The id of the line: 12 hexadecimal digits, which depend on its content only. */
          readonly id: string;
          /** The file in the journal's folder. */
          readonly file: string;
          /** The number of the line in its file, from 1. */
          readonly line: number;
          /** The length of the line in bytes. */
          readonly bytes: number;
          /** Whether the line is of a request that has ended or only begun, or can't be read. */
          readonly kind: "begun" | "ended" | "unreadable";
          /** Why the line can't be read; `null` if it can. Then the database has refused it, and replaying it shows why. */
          readonly problem: string | null;
          /** The request of the line; `null` if it can't be read. */
          readonly request: {
            /** The id that the client received in `x-request-id`. */
            readonly requestId: string;
            /** The id of the account that made the request. */
            readonly accountId: string;
            /** When the request arrived. */
            readonly at: Date;
            /** The cost of the request in nano-USD. */
            readonly costNanoUsd: bigint;
          } | null;
          /** The beginning of the line. */
          readonly text: string;
        }
      >;
      /** Records and charges the requests of lines. */
      readonly replay: Procedure<
        "mutation",
        | {
            /** The ids of the lines, 1 to 1,000. Default: all lines. */
            readonly ids?: readonly string[] | undefined;
            /** The corrected text of a line, whose id is the only one in `ids`. */
            readonly replacement?: string | undefined;
          }
        | undefined,
        {
          /** The number of lines that were recorded. */
          readonly replayed: number;
          /** The lines that were not recorded. They stay. */
          readonly notReplayed: readonly {
            /** The id of the line. */
            readonly id: string;
            /** The file in the journal's folder. */
            readonly file: string;
            /** The number of the line in its file, from 1. */
            readonly line: number;
            /** Why the line was not recorded. */
            readonly reason: string;
          }[];
        }
      >;
      /** Deletes lines without recording or charging their requests. */
      readonly discard: Procedure<
        "mutation",
        {
          /** The ids of the lines, 1 to 1,000. */
          readonly ids: readonly string[];
          /** The reason, for the audit trail: 1 to 500 characters. */
          readonly reason: string;
        },
        {
          /** The number of deleted lines. */
          readonly discarded: number;
        }
      >;
    };
  };
  /** The models of the catalog. */
  readonly models: {
    /** All models, with their prices. */
    readonly list: Procedure<
      "query",
      undefined,
      {
        /** The models, in the order of the catalog. */
        readonly models: readonly {
          /** The id of the model, which requests name. */
          readonly id: string;
          /** Other names by which requests may name the model. */
          readonly aliases: readonly string[];
          /** The organization that made the model. */
          readonly ownedBy: string;
          /** When the model was added to the catalog, in Unix seconds. */
          readonly created: number;
          /** Whether the sandbox answers, without a real model. */
          readonly sandbox: boolean;
          /** The maximum tokens of prompt and answer together; `null`: unknown. */
          readonly contextTokens: number | null;
          /** The maximum tokens of one answer; `null`: unknown. */
          readonly maxOutputTokens: number | null;
          /** What the model reads and writes. */
          readonly modalities: {
            /** What a prompt may contain. */
            readonly input: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
            /** What an answer may contain. */
            readonly output: readonly ("audio" | "embedding" | "file" | "image" | "text" | "video")[];
          };
          /** Prices in nano-USD per million tokens; `null`: free. */
          readonly prices: {
            /** For prompt tokens. */
            readonly inputNanoUsdPerMTok: bigint;
            /** For prompt tokens read from the upstream's cache. */
            readonly cachedInputNanoUsdPerMTok: bigint;
            /** For prompt tokens written to the upstream's cache for 5 minutes, or for a time that the upstream does not tell. */
            readonly cacheWriteNanoUsdPerMTok: bigint;
            /** For prompt tokens written to the upstream's cache for an hour. */
            readonly cacheWrite1hNanoUsdPerMTok: bigint;
            /** For prompt tokens of recordings. */
            readonly audioInputNanoUsdPerMTok: bigint;
            /** For prompt tokens of images. */
            readonly imageInputNanoUsdPerMTok: bigint;
            /** For tokens of answers. */
            readonly outputNanoUsdPerMTok: bigint;
            /** For tokens of reasoning. */
            readonly reasoningNanoUsdPerMTok: bigint;
            /** For tokens of spoken answers. */
            readonly audioOutputNanoUsdPerMTok: bigint;
            /** For tokens of images in answers. */
            readonly imageOutputNanoUsdPerMTok: bigint;
            /** Nano-USD for each image in a prompt, in addition to its tokens. */
            readonly imageNanoUsd: bigint;
          } | null;
        }[];
      }
    >;
  };
}

/** The error of a procedure, as tRPC's clients know it. */
export interface ProcedureError {
  /** The JSON-RPC code that tRPC has for the error. */
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
  /** What went wrong, and what to do next. */
  readonly message: string;
  /** The details of the error. */
  readonly data: {
    /** The path of the procedure that threw. */
    readonly path?: string | undefined;
    /** The error's stack trace, only when `isDev` is set. */
    readonly stack?: string | undefined;
    /** The name that tRPC has for the error. */
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
    /** The HTTP status. */
    readonly httpStatus: number;
    /** The error, as the HTTP API writes it. */
    readonly ostiary: {
      /** The error code, such as `not_found`. */
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
      /** The class of the error, such as `invalid_request_error`. */
      readonly type:
        | "authentication_error"
        | "insufficient_quota"
        | "invalid_request_error"
        | "permission_error"
        | "rate_limit_error"
        | "server_error";
      /** The path of the input's field that is at fault; `null`: none. */
      readonly param: string | null;
      /** The id of the request, also in `x-request-id`; `null` if the call was refused before it had one. */
      readonly requestId: string | null;
    };
  };
}
