import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";

let failures = 0;
/** What hashes wait for. */
let held: Promise<unknown> = Promise.resolve();

vi.mock("oslo/password", async (original) => {
  const { Argon2id } = await original<typeof import("oslo/password")>();
  class Held extends Argon2id {
    override async hash(password: string): Promise<string> {
      await held;
      return super.hash(password);
    }
  }
  return {
    // The import fails at the first access, as the package's own import does while no file can be opened.
    get Argon2id() {
      if (failures-- > 0) throw new Error("too many open files");
      return Held;
    },
  };
});

import { Passwords } from "../../server/src/accounts/passwords.ts";

it("a hash that fails once fails no later one, nor the process", async () => {
  failures = 1;
  const passwords = new Passwords();
  await expect.poll(() => failures).toBe(0);
  // What nobody handles would be reported by now.
  await setImmediate();
  expect(await passwords.verify(null, "correct horse battery staple")).toBe(false);
  const hash = await passwords.hash("correct horse battery staple");
  expect(await passwords.verify(hash, "correct horse battery staple")).toBe(true);
});

it("a hundred callers wait while two are served, and others are told to try again", async () => {
  const passwords = new Passwords();
  const password = "correct horse battery staple";
  // A failure ends the wait without a hash, which would take a fifth of a second each.
  let fail = (_: Error) => {};
  held = new Promise((_, reject) => {
    fail = reject;
  });
  const served = [passwords.hash(password), passwords.hash(password)];
  await setImmediate();
  const waiting = Array.from({ length: 100 }, () => passwords.hash(password));
  await expect(passwords.hash(password)).rejects.toMatchObject({ code: "server_is_overloaded" });
  fail(new Error("enough"));
  const outcomes = await Promise.allSettled([...served, ...waiting]);
  expect(outcomes.map(({ status }) => status)).toEqual(Array(102).fill("rejected"));
  held = Promise.resolve();
  expect(await passwords.verify(await passwords.hash(password), password)).toBe(true);
});
