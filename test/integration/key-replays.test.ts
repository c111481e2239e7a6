import { expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { refusalOf } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUp } from "../fixtures/user.ts";

const service = sharedByFile(() => startService());

it("the idempotency key of a key's creation stands for another call after a day, and not before", async () => {
  const owner = await signUp(service.baseUrl);
  const call = { name: "production", idempotencyKey: crypto.randomUUID() };
  const first = await owner.trpc.keys.create.mutate(call);
  await owner.trpc.keys.revoke.mutate({ id: first.id });
  await using sql = await openDatabaseOf(service);
  await sql`update keys set issued_at = issued_at - interval '23 hours' where id = ${first.id}`;
  expect((await refusalOf(owner.trpc.keys.create.mutate(call))).code).toBe("conflict");
  const other = { ...call, name: "staging" };
  expect((await refusalOf(owner.trpc.keys.create.mutate(other))).code).toBe("idempotency_key_reused");
  await sql`update keys set issued_at = issued_at - interval '2 hours' where id = ${first.id}`;
  const second = await owner.trpc.keys.create.mutate(other);
  expect(second.id).not.toBe(first.id);
  // From now on it stands for the later call.
  expect((await refusalOf(owner.trpc.keys.create.mutate(call))).code).toBe("idempotency_key_reused");
  const { keys } = await owner.trpc.keys.list.query();
  expect(keys.map(({ id, state }) => [id, state])).toEqual([
    [second.id, "active"],
    [first.id, "revoked"],
  ]);
});
