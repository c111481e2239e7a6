import { describe, expect, it } from "vitest";
import { startRedis } from "../fixtures/redis.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { PASSWORD, signUp, visit } from "../fixtures/user.ts";

const HOME = "203.0.113.7";
const WRONG = "a wrong password";
const STRANGERS = 110;

async function attempt(service: Service, email: string, password: string, from: string): Promise<string> {
  const { trpc } = visit(service.baseUrl, { "x-forwarded-for": from });
  return trpc.auth.signIn.mutate({ email, password }).then(
    () => "signed in",
    (error) => error.data.ostiary.code,
  );
}

/** Guesses from so many networks that the user's counter over all networks is used up. */
async function guessFromElsewhere(service: Service, email: string): Promise<string[]> {
  const outcomes: string[] = [];
  for (let first = 0; first < STRANGERS; first += 10) {
    const guesses = Array.from({ length: 10 }, (_, index) =>
      attempt(service, email, WRONG, `198.51.100.${first + index}`),
    );
    outcomes.push(...(await Promise.all(guesses)));
  }
  return outcomes;
}

describe("a user who has signed in from a network", () => {
  it("is not locked out there by guesses from other networks, without Redis", async () => {
    await using service = await startService({
      env: { TRUSTED_PROXIES: "127.0.0.1", REDIS_URL: undefined, OSTIARY_REDIS_PREFIX: undefined },
    });
    const { email } = await signUp(service.baseUrl);
    expect(await attempt(service, email, PASSWORD, HOME)).toBe("signed in");
    const outcomes = await guessFromElsewhere(service, email);
    expect(outcomes.filter((code) => code === "wrong_credentials")).toHaveLength(100);
    // From anywhere else the user is refused like the strangers; from home not.
    expect(await attempt(service, email, PASSWORD, "192.0.2.1")).toBe("rate_limit_exceeded");
    expect(await attempt(service, email, PASSWORD, HOME)).toBe("signed in");
    expect(service.stderr()).not.toContain("TimeoutOverflowWarning");
  });

  it.skipIf(process.env.OSTIARY_TEST_REDIS_URL === undefined)(
    "is not locked out there when Redis becomes unreachable after that",
    async () => {
      await using redis = await startRedis();
      await using service = await startService({
        env: { TRUSTED_PROXIES: "127.0.0.1", REDIS_URL: redis.url },
      });
      const { email } = await signUp(service.baseUrl);
      expect(await attempt(service, email, PASSWORD, HOME)).toBe("signed in");
      await redis.kill();
      await guessFromElsewhere(service, email);
      expect(await attempt(service, email, PASSWORD, "192.0.2.1")).toBe("rate_limit_exceeded");
      expect(await attempt(service, email, PASSWORD, HOME)).toBe("signed in");
      expect(await attempt(service, email, PASSWORD, HOME)).toBe("signed in");
      expect(service.stderr()).not.toContain("TimeoutOverflowWarning");
      await redis.start();
    },
  );
});
