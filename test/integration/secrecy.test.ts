import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, it, vi } from "vitest";
import { runOperatorCommand } from "../fixtures/command.ts";
import { OPERATOR_ENV, refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { PASSWORD, signUp, visit } from "../fixtures/user.ts";

/** Uses everything that handles a secret, rightly and wrongly. @returns the secrets, by what they are. */
async function useEverything(service: Service): Promise<Map<string, string>> {
  const secrets = new Map<string, string>();
  const operator = await signInOperator(service.baseUrl);
  secrets.set("the operator's password", OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD);
  secrets.set("the operator's session", sessionOf(operator.cookie()));
  const owner = await signUp(service.baseUrl);
  secrets.set("a password", PASSWORD);
  secrets.set("a session", sessionOf(owner.cookie()));

  const first = await owner.trpc.keys.create.mutate({
    name: "first",
    idempotencyKey: "an-idempotency-key-of-mine",
  });
  secrets.set("a key", first.key);
  secrets.set("an idempotency key", "an-idempotency-key-of-mine");
  const second = await owner.trpc.keys.rotate.mutate({ id: first.id });
  secrets.set("its successor", second.key);
  const { token, id: tokenId } = await owner.trpc.tokens.create.mutate({ name: "script" });
  secrets.set("a management token", token);

  expect(await statusOf(service.baseUrl, first.key)).toBe(200);
  await misplace(service, first.key);
  await misplace(service, token);
  const script = visit(service.baseUrl, {
    authorization: `Bearer ${token}`,
    "user-agent": `curl ${second.key}`,
  });
  await script.trpc.keys.list.query();
  await owner.trpc.keys.revoke.mutate({ id: first.id });
  expect(await statusOf(service.baseUrl, first.key)).toBe(401);
  await owner.trpc.tokens.revoke.mutate({ id: tokenId });
  await refusalOf(script.trpc.keys.list.query());

  // People paste them where names and reasons go.
  expect((await refusalOf(owner.trpc.keys.create.mutate({ name: first.key }))).code).toBe("invalid_request");
  const { id } = await owner.trpc.account.get.query();
  const suspend = operator.trpc.operator.accounts.suspend.mutate({ id, reason: `leaked: ${second.key}` });
  expect((await refusalOf(suspend)).code).toBe("invalid_request");

  const wrong = "a password that is wrong";
  await refusalOf(visit(service.baseUrl).trpc.auth.signIn.mutate({ email: owner.email, password: wrong }));
  secrets.set("a wrong password", wrong);
  await owner.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "the password after that" });
  secrets.set("a changed password", "the password after that");
  secrets.set("a session after that", sessionOf(owner.cookie()));
  const reset = await operator.trpc.operator.users.resetPassword.mutate({ email: owner.email });
  secrets.set("a reset password", reset.password);
  const made = await operator.trpc.operator.accounts.create.mutate({
    email: `${crypto.randomUUID()}@example.com`,
    accountName: "Made",
  });
  secrets.set("a first password", made.password);
  const command = await runOperatorCommand(["token", "command"], {
    OSTIARY_BASE_URL: service.baseUrl,
    ...OPERATOR_ENV,
  });
  secrets.set("the command's token", command.stdout.trim());

  // A query writes pending security events to the database first.
  const { events } = await operator.trpc.operator.security.query({ limit: 200 });
  const kinds = new Set(events.map(({ kind }) => kind));
  for (const kind of ["sign_in_failed", "unknown_key", "revoked_key", "management_token_refused"] as const) {
    expect(kinds).toContain(kind);
  }
  const told = JSON.stringify(events);
  for (const [what, secret] of secrets) expect(told.includes(secret.slice(-12)), what).toBe(false);
  return secrets;
}

/** Sends a secret in every place where it does not belong. None of the answers may tell it back. */
async function misplace(service: Service, secret: string): Promise<void> {
  const json = { "content-type": "application/json" };
  const chat = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, ...json, ...headers },
      body: JSON.stringify(body),
    });
  const answers = await Promise.all([
    fetch(`${service.baseUrl}/v1/models?api_key=${secret}`),
    fetch(`${service.baseUrl}/v1/models/${secret}`, { headers: { authorization: `Bearer ${secret}` } }),
    fetch(`${service.baseUrl}/v1/audit?cursor=${secret}`, { headers: { authorization: `Bearer ${secret}` } }),
    fetch(`${service.baseUrl}/${secret}`),
    fetch(`${service.baseUrl}/%20${secret}`),
    fetch(`${service.baseUrl}/v1/Bearer%20${secret}`, { headers: { authorization: `Bearer ${secret}` } }),
    fetch(`${service.baseUrl}/v1/OSTIARY_API_KEY_${secret}`, {
      headers: { authorization: `Bearer ${secret}` },
    }),
    chat({ model: `OSTIARY_API_KEY_${secret}`, messages: [{ role: "user", content: "hi" }] }),
    fetch(`${service.baseUrl}/v1/${secret}`, { headers: { authorization: secret } }),
    ...["/", "/v1/", "/v1/models/", "/trpc/"].map((path) =>
      fetch(`${service.baseUrl}${path}${percentEncoded(secret.slice(0, 3))}${secret.slice(3)}`, {
        headers: { authorization: `Bearer ${secret}` },
      }),
    ),
    fetch(`${service.baseUrl}/trpc/${secret}`, { headers: { authorization: `Bearer ${secret}` } }),
    fetch(`${service.baseUrl}/trpc/keys.list?input=${secret}`, {
      headers: { authorization: `Bearer ${secret}` },
    }),
    chat({ model: secret, messages: [{ role: "user", content: "hi" }] }),
    chat({ model: "sandbox/lorem", messages: [{ role: secret, content: 7 }] }),
    chat({ model: "sandbox/lorem", messages: [{ role: "user", content: "hi" }], user: secret }),
    chat(secret, { "x-request-id": secret, "user-agent": secret, "x-forwarded-for": secret }),
    fetch(`${service.baseUrl}/trpc/auth.signIn`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ json: { email: secret, password: secret } }),
    }),
  ]);
  for (const answer of answers) {
    expect(answer.status).toBeLessThan(500);
    const told = (await answer.text()) + JSON.stringify([...answer.headers]);
    expect(told.includes(secret), answer.url.replace(secret, "…")).toBe(false);
  }
}

function percentEncoded(text: string): string {
  return Array.from(text, (character) => `%${character.charCodeAt(0).toString(16)}`).join("");
}

function sessionOf(cookie: string): string {
  return cookie.split("=")[1] ?? "";
}

/** All that the database holds, as text; `null` for the bundled one, whose files are in the data folder. */
async function databaseText(service: Service): Promise<string | null> {
  if (service.databaseUrl === undefined) return null;
  const sql = postgres(service.databaseUrl, { max: 1, onnotice: () => {} });
  const tables = await sql<{ name: string }[]>`
    select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`;
  let text = "";
  for (const { name } of tables) {
    const rows = await sql.unsafe(`select to_jsonb(${name}) as row from ${name}`);
    text += `\n${name}\n${JSON.stringify(rows)}`;
  }
  await sql.end();
  return text;
}

/** A bundled database notices that its service is gone, and stops; it removes its pid file last. */
async function databaseStopped({ databaseUrl, dataDir }: Service): Promise<void> {
  if (databaseUrl !== undefined) return;
  const pidFile = join(dataDir, "postgres/postmaster.pid");
  await vi.waitFor(() => expect(existsSync(pidFile)).toBe(false), { timeout: 30_000 });
}

describe("after valid and invalid use of every endpoint", () => {
  it("the database, the journal and the log contain no key string, token or password", async () => {
    await using service = await startOperatedService({
      env: { OSTIARY_LOG: "debug", OSTIARY_ACCESS_LOG: "1" },
    });
    const secrets = await useEverything(service);
    const inDatabase = await databaseText(service);
    // Not stopped: what the journal still holds is looked through too.
    await service.kill();
    await databaseStopped(service);

    const places = new Map([["the log", Buffer.from(service.stdout() + service.stderr())]]);
    if (inDatabase !== null) places.set("the database", Buffer.from(inDatabase));
    const files = await readdir(service.dataDir, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      places.set(file.name, await readFile(join(file.parentPath, file.name)));
    }
    // The search finds what is there: the user's address.
    const all = Buffer.concat([...places.values()]);
    expect(all.includes("operator@example.com")).toBe(true);

    for (const [what, secret] of secrets) {
      expect(secret.length, what).toBeGreaterThan(15);
      for (const [where, bytes] of places) {
        expect(bytes.includes(secret), `${what} in ${where}`).toBe(false);
        // Nor as the half of one, beyond the 4 characters that name it.
        expect(bytes.includes(secret.slice(-12)), `the end of ${what} in ${where}`).toBe(false);
      }
    }
  });
});
