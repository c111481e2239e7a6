import { expect, it } from "vitest";
import { memoryCounters } from "../../server/src/accounts/attempt-counters.ts";
import { AttemptLimits } from "../../server/src/accounts/attempts.ts";
import { CredentialLookups } from "../../server/src/accounts/credential-lookups.ts";
import { Passwords } from "../../server/src/accounts/passwords.ts";
import { SignIn } from "../../server/src/accounts/sign-in.ts";
import type { PostgresUsers } from "../../server/src/accounts/users-store.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { Failure, toFailure, Unavailable } from "../../server/src/errors/failure.ts";

it("attempts to sign in that could not be made do not lock anybody out", async () => {
  let isAway = true;
  const store: Partial<PostgresUsers> = {
    findUser: async () => {
      if (isAway) throw new Unavailable("the database is away");
      return null;
    },
  };
  const signIn = new SignIn({
    store: store as PostgresUsers,
    passwords: new Passwords(),
    attempts: new AttemptLimits(memoryCounters().counter),
    plans: BUILT_IN_PLANS,
    security: { note: () => {} },
    lookups: new CredentialLookups("sessions", () => 0),
    now: () => new Date(),
  });
  const clientInfo = { sourceIp: "192.0.2.1", userAgent: null };
  const attempt = () =>
    signIn.signIn("ann@example.com", "wrong", clientInfo).then(
      () => "signed in",
      (thrown) => (thrown instanceof Failure ? thrown : toFailure(thrown)).code,
    );
  // More than the limits of users, networks and addresses together.
  for (let attempts = 0; attempts < 250; attempts++) expect(await attempt()).toBe("server_is_overloaded");
  isAway = false;
  for (let attempts = 0; attempts < 10; attempts++) expect(await attempt()).toBe("wrong_credentials");
  expect(await attempt()).toBe("rate_limit_exceeded");
});
