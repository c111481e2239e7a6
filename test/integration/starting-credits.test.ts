import { describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

describe("starting credit", () => {
  it("is granted to a new account by its plan", async () => {
    await using generous = await startService({
      env: { OSTIARY_PLANS: '{"free":{"startingCreditsUsd":"2.50"}}' },
    });
    const owner = await signUpWithKey(generous.baseUrl);
    expect(await owner.trpc.credits.balance.query()).toEqual({
      balanceNanoUsd: 2_500_000_000n,
      reservedNanoUsd: 0n,
    });
    expect((await owner.trpc.credits.ledger.query()).entries).toMatchObject([{ reason: "starting credits" }]);
  });
});
