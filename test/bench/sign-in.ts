// Whether the time of a refused sign-in tells if there is such a user: a wrong password against an unknown address.

import { memoryCounters } from "../../server/src/accounts/attempt-counters.ts";
import { AttemptLimits } from "../../server/src/accounts/attempts.ts";
import { CredentialLookups } from "../../server/src/accounts/credential-lookups.ts";
import { Passwords } from "../../server/src/accounts/passwords.ts";
import { SignIn } from "../../server/src/accounts/sign-in.ts";
import type { PostgresUsers } from "../../server/src/accounts/users-store.ts";
import type { UserId } from "../../server/src/contract/account.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { median, report, summary } from "./measure.ts";

const ROUNDS = 9;
const ATTEMPTS = 20;

const passwords = new Passwords();
const passwordHash = await passwords.hash("correct horse battery staple");
const known = {
  signedIn: { role: "operator", user: { id: "user" as UserId, email: "known@example.com" } } as const,
  passwordHash,
};
const store = { findUser: async (email: string) => (email === "known@example.com" ? known : null) };

/** Milliseconds until a wrong password is refused. */
async function refusedMs(email: string): Promise<number> {
  const times: number[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // Limits of its own, so that none is reached.
    const attempts = new AttemptLimits(memoryCounters().counter);
    const signIn = new SignIn({
      store: store as unknown as PostgresUsers,
      passwords,
      attempts,
      plans: BUILT_IN_PLANS,
      security: { note: () => {} },
      lookups: new CredentialLookups("sessions", () => 0),
      now: () => new Date(),
    });
    const started = performance.now();
    await signIn
      .signIn(email, "a wrong password", { sourceIp: "192.0.2.1", userAgent: null })
      .catch(() => {});
    times.push(performance.now() - started);
  }
  return median(times);
}

const times = { known: [] as number[], unknown: [] as number[] };
for (let round = 0; round < ROUNDS; round++) {
  times.known.push(await refusedMs("known@example.com"));
  times.unknown.push(await refusedMs("nobody@example.com"));
}
report("a wrong password is refused after", "ms", summary(times.known, 1));
report("an unknown user is refused after", "ms", summary(times.unknown, 1));
const ratios = times.unknown.map((value, round) => value / (times.known[round] ?? Number.NaN));
report("  ratio", "", summary(ratios, 2));
// Counters keep timers for what they count.
process.exit(0);
