import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { accountIdOf, openResponseStore, responseOf } from "../fixtures/responses.ts";
import { runToExit, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { answerOf, ask, failureOf, inheritance } from "./storing-service.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

describe("the key of stored responses", () => {
  it("can be replaced; without the former one its responses are unknown, which is logged once", async () => {
    const [former, present] = [randomBytes(32), randomBytes(32)];
    const first = await startService({
      env: { OSTIARY_RESPONSES_KEY: former.toString("base64") },
      fromNothing: true,
    });
    let later: Service | null = null;
    try {
      const someone = await signUpWithKey(first.baseUrl);
      const id = await accountIdOf(someone);
      const kept = [responseOf("one"), responseOf("two")];
      {
        await using own = await openResponseStore(first, former);
        for (const response of kept) await own.store.save(id, response);
        const [row] = await own.sql`select responses_key from installation`;
        expect(row?.responses_key).toBeNull();
      }
      const statuses = async ({ baseUrl }: Service) =>
        Promise.all(
          kept.map(async (response) => (await ask(response.id, { at: baseUrl, key: someone.key })).status),
        );
      expect(await statuses(first)).toEqual([200, 200]);
      await first.stop();

      later = await startService({
        ...inheritance(first),
        env: { OSTIARY_RESPONSES_KEY: present.toString("hex") },
      });
      expect(await statuses(later)).toEqual([404, 404]);
      const unreadable = await answerOf(ask(kept[0]?.id ?? "", { at: later.baseUrl, key: someone.key }));
      const unknown = await answerOf(ask("resp_unknown", { at: later.baseUrl, key: someone.key }));
      expect(JSON.stringify(unreadable).replace(kept[0]?.id ?? "", "resp_unknown")).toBe(
        JSON.stringify(unknown),
      );
      await expect.poll(() => later?.stderr().match(/cannot be decrypted/g)?.length).toBe(1);
      {
        await using own = await openResponseStore(later, present);
        expect(await failureOf(own.store.history(id, kept[0]?.id ?? ""))).toMatchObject({
          code: "not_found",
        });
        const reference = own.store.items(id, [`msg_out_${kept[0]?.id}`]);
        expect(await failureOf(reference)).toMatchObject({ code: "not_found" });
      }
      // They can still be deleted.
      expect(
        (await ask(kept[1]?.id ?? "", { method: "DELETE", at: later.baseUrl, key: someone.key })).status,
      ).toBe(200);
      await later.stop();

      const keys = [present, former].map((key) => key.toString("base64")).join(", ");
      later = await startService({ ...inheritance(first), env: { OSTIARY_RESPONSES_KEY: keys } });
      expect(await statuses(later)).toEqual([200, 404]);
      expect(later.stderr()).not.toContain("cannot be decrypted");
    } finally {
      await later?.[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    }
  });

  it("can be set when the installation's own was used before", async () => {
    await using first = await startService();
    const someone = await signUpWithKey(first.baseUrl);
    const kept = responseOf("sealed by the installation");
    {
      await using own = await openResponseStore(first);
      await own.store.save(await accountIdOf(someone), kept);
    }
    await first.stop();
    await using later = await startService({
      ...inheritance(first),
      env: { OSTIARY_RESPONSES_KEY: randomBytes(32).toString("base64url") },
    });
    expect((await ask(kept.id, { at: later.baseUrl, key: someone.key })).status).toBe(200);
  });

  it("is refused unless it has 32 bytes, without being shown", async () => {
    for (const wrong of [
      "secret-of-the-operator",
      randomBytes(31).toString("hex"),
      `${randomBytes(32).toString("hex")},`,
    ]) {
      const { code, stderr } = await runToExit({
        env: { OSTIARY_RESPONSES_KEY: wrong, OSTIARY_RESPONSES_TTL_DAYS: "3651", DATABASE_URL: undefined },
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(/OSTIARY_RESPONSES_KEY: must be 32 random bytes/);
      expect(stderr).toMatch(/OSTIARY_RESPONSES_TTL_DAYS: must be a whole number from 0 to 3650/);
      expect(stderr).not.toContain(wrong);
    }
  });
});

describe.skipIf(!isDistributed)("several nodes", () => {
  it("share responses, and the key that the first of them has made", async () => {
    await using first = await startService();
    const databaseUrl = first.databaseUrl ?? "";
    await using second = await startService({ databaseUrl });
    const someone = await signUpWithKey(first.baseUrl);
    const id = await accountIdOf(someone);
    await using own = await openResponseStore(first);
    const kept = responseOf("shared");
    await own.store.save(id, kept);
    for (const { baseUrl: at } of [first, second]) {
      expect((await answerOf(ask(kept.id, { at, key: someone.key }))).body).toEqual(kept.response);
    }
    expect((await ask(kept.id, { method: "DELETE", at: second.baseUrl, key: someone.key })).status).toBe(200);
    expect((await ask(kept.id, { at: first.baseUrl, key: someone.key })).status).toBe(404);
  });
});
