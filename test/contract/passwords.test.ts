import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";

let failures = 0;

vi.mock("oslo/password", async (original) => {
  const { Argon2id } = await original<typeof import("oslo/password")>();
  return {
    // The import fails at the first access, as the package's own import does while no file can be opened.
    get Argon2id() {
      if (failures-- > 0) throw new Error("too many open files");
      return Argon2id;
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
