import { mkdir, readdir, readFile, rename, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type EntryId, requestIdOf } from "../../server/src/contract/entry.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { inTransaction, type Transaction } from "../../server/src/database/database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { runOperatorCommand } from "../fixtures/command.ts";
import { during, openDatabaseOf } from "../fixtures/database.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { OPERATOR_ENV, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { logLines, type Service, startService } from "../fixtures/service.ts";
import { canMountDisks, mountSmallDisk } from "../fixtures/small-disk.ts";
import { signUpWithKey, visit } from "../fixtures/user.ts";

/** What a successor needs to go on where a service left off. */
function inheritance(service: Service) {
  return {
    dataDir: service.dataDir,
    ...(service.databaseUrl === undefined ? {} : { databaseUrl: service.databaseUrl }),
  };
}

async function chat(service: Service, key: string): Promise<{ status: number; requestId: string }> {
  const response = await sendChat(service.baseUrl, key);
  await response.text();
  return { status: response.status, requestId: response.headers.get("x-request-id") ?? "" };
}

async function rejectedLines(service: Service): Promise<number> {
  const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  return Number(/^ostiary_journal_rejected_lines (\d+)$/m.exec(text)?.[1]);
}

const readiness = async (service: Service) => {
  const response = await fetch(`${service.baseUrl}/readyz`);
  return { status: response.status, text: await response.text() };
};

describe("a service whose journal was damaged", () => {
  let service: Service;
  let owner: Awaited<ReturnType<typeof signUpWithKey>>;
  let env: Record<string, string>;
  const good = auditEntry();
  const bad = auditEntry({ sourceIp: "127.0.0.z", costNanoUsd: 1_000_000n });

  beforeAll(async () => {
    const first = await startOperatedService();
    owner = await signUpWithKey(first.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const owned = { accountId: id as AccountId, key: owner.id as KeyUuid };
    await first.kill();
    const lines = [
      Buffer.from("garbage in the middle\n"),
      Buffer.from(`${encodeEntry({ ...good, ...owned })}\n`),
      Buffer.concat([Buffer.alloc(512), Buffer.from("\n")]),
      Buffer.from(`${encodeEntry({ ...bad, ...owned })}\n`),
    ];
    await writeFile(join(first.dataDir, "journal/000000000701.ndjson"), Buffer.concat(lines));
    await mkdir(join(first.dataDir, "journal/000000000700.ndjson"));
    service = await startOperatedService(inheritance(first));
    const base = { OSTIARY_BASE_URL: service.baseUrl };
    const { stdout } = await runOperatorCommand(["token", "tests"], { ...base, ...OPERATOR_ENV });
    env = { ...base, OSTIARY_MANAGEMENT_TOKEN: stdout.trim() };
  });

  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    if (service !== undefined) await rm(service.dataDir, { recursive: true, force: true });
  });

  const operator = (...args: string[]) => runOperatorCommand(["journal", ...args], env);
  const entries = async () => {
    const { trpc } = visit(service.baseUrl, { authorization: `Bearer ${owner.key}` });
    return (await trpc.audit.list.query()).entries;
  };

  it("starts, records the valid lines, and logs an error with file and line", async () => {
    expect((await readiness(service)).status).toBe(200);
    expect((await entries()).map(({ requestId }) => requestId)).toEqual([requestIdOf(good.id)]);
    expect(await rejectedLines(service)).toBe(4);
    const alarms = logLines(service.stderr()).filter(({ level }) => level === "error");
    const file = join(service.dataDir, "journal/000000000701.ndjson");
    expect(alarms).toMatchObject([
      { file: join(service.dataDir, "journal/000000000700.ndjson"), keptIn: "000000000700.rejected" },
      { file, line: 1 },
      { file, line: 3 },
      { file, line: 4, reason: expect.stringContaining("inet") },
      { lines: 4, msg: expect.stringContaining("journal list") },
    ]);
  });

  it("shows an operator what was rejected, and charges a corrected line once", async () => {
    const { trpc } = visit(service.baseUrl, { authorization: `Bearer ${owner.key}` });
    const before = (await trpc.credits.balance.query()).balanceNanoUsd;
    const listed = await operator("list");
    expect(listed.stdout).toMatch(/^node +\S+\nfolder +\S+\/journal\n/);
    expect(listed.stdout).toMatch(
      /^[0-9a-f]{12} {2}000000000701\.rejected:1 +cannot be read: it is not JSON +garbage in/m,
    );
    expect(listed.stdout).toContain("000000000700.rejected  cannot be read");
    // Nothing of a damaged line gets to the terminal as it is.
    expect(listed.stdout).not.toContain("\0");
    const [, zeros = ""] = /^([0-9a-f]{12}) .*·{80}$/m.exec(listed.stdout) ?? [];
    expect((await operator("show", zeros)).stdout).toBe(`${"·".repeat(512)}\n`);
    const [, id = ""] =
      new RegExp(`^([0-9a-f]{12}) .*${requestIdOf(bad.id)}$`, "m").exec(listed.stdout) ?? [];

    const refused = await operator("replay");
    expect(refused.stdout).toMatch(/^0 recorded$/m);
    expect(refused.stdout).toMatch(
      new RegExp(`^${id} .* not recorded: invalid input syntax for type inet`, "m"),
    );
    expect(refused.code).toBe(1);

    const text = (await operator("show", id)).stdout.trim();
    const mended = text.replace("127.0.0.z", "127.0.0.1");
    const replayMended = () => operator("replay", id, "--with", mended);
    await using sql = await openDatabaseOf(service);
    const whileLocked = await sql.transaction("", async (transaction) => {
      await transaction`select id from accounts for update`;
      return during(transaction, replayMended);
    });
    expect(whileLocked).toMatchObject({ code: 1, stdout: expect.stringContaining("replay the line again") });
    expect(await replayMended()).toMatchObject({ code: 0, stdout: "1 recorded\n" });
    expect((await entries()).map(({ requestId }) => requestId)).toContain(requestIdOf(bad.id));
    expect((await trpc.credits.balance.query()).balanceNanoUsd).toBe(before - 1_000_000n);
    expect(await rejectedLines(service)).toBe(3);
  });

  it("discards what an operator discards, and records that", async () => {
    const { lines } = JSON.parse((await runOperatorCommand(["--json", "journal", "list"], env)).stdout);
    const ids = lines.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(2);
    expect((await operator("discard", ...ids)).code).toBe(2);
    expect((await operator("discard", ...ids, "--reason", "of no use")).stdout).toBe("2 discarded\n");
    // The folder is shown only to users who have access to the machine.
    await rm(join(service.dataDir, "journal/000000000700.rejected"), { recursive: true });
    expect((await operator("list")).stdout).toContain("No rejected lines.");
    expect(await rejectedLines(service)).toBe(0);
    const trail = await runOperatorCommand(["audit"], env);
    expect(trail.stdout).toContain("journal.discard");
    expect(trail.stdout).toContain("reason  of no use");
    expect(trail.stdout).toContain("journal.replay");
  });

  it("returns not found for an unknown line, and refuses callers without permission", async () => {
    const missing = await operator("show", "0123456789ab");
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no rejected line 0123456789ab"),
    });
    expect(await operator("show", "nonsense")).toMatchObject({ code: 2 });
    const { trpc } = visit(service.baseUrl, { authorization: `Bearer ${owner.key}` });
    await expect(trpc.operator.journal.list.query()).rejects.toMatchObject({
      data: { ostiary: { code: "permission_denied" } },
    });
  });
});

describe("a journal in which a bit has flipped", () => {
  it("records no request under another id: the line is rejected, and replayed once it is corrected", async () => {
    const first = await startOperatedService();
    const owner = await signUpWithKey(first.baseUrl);
    const { requestId } = await chat(first, owner.key);
    // Reading the log waits until the entry is in the database. Its line stays in the open file.
    const list = ({ baseUrl }: Service) =>
      visit(baseUrl, { authorization: `Bearer ${owner.key}` }).trpc.audit.list.query();
    expect((await list(first)).entries.map((entry) => entry.requestId)).toEqual([requestId]);
    await first.kill();
    const folder = join(first.dataDir, "journal");
    const [name = ""] = (await readdir(folder)).filter((file) => file.endsWith(".ndjson"));
    const lines = (await readFile(join(folder, name), "utf8")).split("\n");
    const at = lines.findIndex(
      (line) => !line.startsWith("begun ") && line.replaceAll("-", "").includes(requestId.slice(4)),
    );
    const sound = lines[at] ?? "";
    // The last digit of the id: each is one bit away from another one.
    const flipped = sound.replace(
      /^(\["[0-9a-f-]{35})([0-9a-f])/,
      (_, id: string, digit: string) => id + (Number.parseInt(digit, 16) ^ 1).toString(16),
    );
    expect(flipped).not.toBe(sound);
    await writeFile(join(folder, name), lines.toSpliced(at, 1, flipped).join("\n"));
    await using second = await startOperatedService(inheritance(first));
    try {
      expect((await list(second)).entries.filter((entry) => entry.endpoint.includes("chat"))).toHaveLength(1);
      expect(await rejectedLines(second)).toBeGreaterThanOrEqual(1);
      const operator = await signInOperator(second.baseUrl);
      const rejected = await operator.trpc.operator.journal.list.query({});
      const line = rejected.lines.find(({ problem }) => problem !== null);
      expect(line?.problem).toContain("checksum");
      // The operator corrects the digit, and leaves the checksum as it is.
      const ids = [line?.id ?? ""];
      const corrected = `${sound.slice(0, -1)}0`;
      const { replayed } = await operator.trpc.operator.journal.replay.mutate({
        ids,
        replacement: corrected,
      });
      expect(replayed).toBe(1);
      expect((await list(second)).entries.filter((entry) => entry.endpoint.includes("chat"))).toHaveLength(1);
    } finally {
      await rm(first.dataDir, { recursive: true, force: true });
    }
  });
});

describe("a journal folder that vanishes while the service runs", () => {
  it("makes the service not ready, is logged, and refuses unrecordable requests until it is back", async () => {
    await using service = await startService();
    const owner = await signUpWithKey(service.baseUrl);
    expect((await chat(service, owner.key)).status).toBe(200);
    const folder = join(service.dataDir, "journal");
    await rename(folder, `${folder}-away`);
    await expect
      .poll(() => readiness(service))
      .toMatchObject({ status: 503, text: expect.stringContaining("the journal") });
    expect((await chat(service, owner.key)).status).toBe(503);
    await expect.poll(() => service.stderr()).toContain(`The journal folder ${folder} is missing`);
    const writable = () => metricOf(service.baseUrl, "ostiary_journal_writable");
    expect(await writable()).toBe(0);
    await mkdir(folder);
    await expect.poll(() => readiness(service)).toMatchObject({ status: 200 });
    expect(await writable()).toBe(1);
    expect((await chat(service, owner.key)).status).toBe(200);
  });
});

describe.runIf(canMountDisks).each(["journal", "disk"])(
  "a full disk under AUDIT_DURABILITY=%s",
  (durability) => {
    it("refuses requests, leaves one file, charges no refused request, and recovers by itself", async () => {
      await using first = await startService();
      const owner = await signUpWithKey(first.baseUrl);
      await first.stop();
      const folder = join(first.dataDir, "journal");
      using _disk = mountSmallDisk(folder, "size=256k,mode=700");
      const options = { ...inheritance(first), env: { AUDIT_DURABILITY: durability } };
      await using service = await startService(options);
      const answers: { status: number; requestId: string }[] = [];
      const ask = async (count: number) => {
        const got = await Promise.all(Array.from({ length: count }, () => chat(service, owner.key)));
        answers.push(...got);
        return got.map(({ status }) => status);
      };
      expect(await ask(3)).toEqual([200, 200, 200]);

      const filler = join(folder, "filler");
      const { bavail, bsize } = await statfs(folder);
      // Some pages are left: what comes together does not fit whole.
      await writeFile(filler, Buffer.alloc((bavail - 4) * bsize));
      for (let round = 0; round < 5; round++) await ask(40);
      expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(100);
      expect((await readdir(folder)).filter((name) => name.endsWith(".ndjson")).length).toBeLessThanOrEqual(
        1,
      );
      expect(await readiness(service)).toMatchObject({
        status: 503,
        text: expect.stringContaining("the journal"),
      });

      expect(await metricOf(service.baseUrl, "ostiary_journal_writable")).toBe(0);
      await expect.poll(() => service.stderr()).toContain("Free space on its disk");
      expect(service.stderr()).not.toContain('"stack"');

      await rm(filler);
      await expect.poll(() => readiness(service)).toMatchObject({ status: 200 });
      expect(await ask(3)).toEqual([200, 200, 200]);
      await service.kill();

      await using second = await startService(inheritance(first));
      const { trpc } = visit(second.baseUrl, { authorization: `Bearer ${owner.key}` });
      const found = (await trpc.audit.list.query({ limit: 1_000 })).entries;
      const answered = answers.filter(({ status }) => status === 200).map(({ requestId }) => requestId);
      const recorded = found.filter(({ status }) => status === 200).map(({ requestId }) => requestId);
      expect(recorded.toSorted()).toEqual(answered.toSorted());
    });
  },
);

it("the tests leave no trace in the service's own data folder", async () => {
  await using service = await startService();
  expect(await readdir(service.dataDir)).not.toContain("writable");
  expect(await readdir(join(service.dataDir, "journal"))).toEqual([]);
  expect((await readFile(join(service.dataDir, "node-id"), "utf8")).trim()).toMatch(/^[0-9a-f-]{36}$/);
});

describe.skipIf(process.env.OSTIARY_TEST_DATABASE_URL === undefined)(
  "a service whose journal has entries of an account that another transaction has locked",
  () => {
    it.each(["audit_chains", "accounts"])(
      "starts and serves, and records and charges these entries once when the rows in %s are free",
      async (table) => {
        await using first = await startService();
        await using sql = await openDatabaseOf(first);
        const [locked, other] = [await signUpWithKey(first.baseUrl), await signUpWithKey(first.baseUrl)];
        const { id } = await locked.trpc.account.get.query();
        await chat(first, locked.key);
        await locked.trpc.audit.list.query();
        const left = [3n, 4n].map((costNanoUsd) =>
          auditEntry({ accountId: id as AccountId, key: locked.id as KeyUuid, costNanoUsd }),
        );
        const charged = async () => {
          const rows = await sql<{ amount: bigint }[]>`
            select amount_nano_usd as amount from credit_ledger where account_id = ${id} and kind = 'charge'`;
          return rows.reduce((sum, { amount }) => sum + amount, 0n);
        };
        const lock = async (transaction: Transaction) => {
          const column = table === "accounts" ? "id" : "account_id";
          await transaction.unsafe(`select from ${table} where ${column} = '${id}' for update`);
        };
        const successor = await inTransaction(sql, async (transaction) => {
          await lock(transaction);
          await first.kill();
          await writeFile(
            join(first.dataDir, "journal/000000000701.ndjson"),
            left.map((entry) => `${encodeEntry(entry)}\n`).join(""),
          );
          const successor = await during(transaction, () => startService(inheritance(first)));
          expect(await chat(successor, other.key)).toMatchObject({ status: 200 });
          expect(await charged()).toBe(0n);
          return successor;
        });
        await using _ = successor;
        const recorded = () => sql<{ id: EntryId }[]>`
          select id from audit_entries where account_id = ${id} order by batch, id`;
        await expect.poll(async () => (await recorded()).length, { timeout: 20_000 }).toBe(3);
        const [, ...late] = await recorded();
        expect(late.map((row) => row.id)).toEqual(left.map((entry) => entry.id));
        expect(await charged()).toBe(-7n);
        const spenders = () => sql`select from credit_spenders`;
        // That of the killed process is closed once what it owes is charged.
        await expect.poll(async () => (await spenders()).length, { timeout: 20_000 }).toBe(1);
        expect(await readdir(join(successor.dataDir, "journal"))).not.toContain("000000000701.ndjson");
      },
    );

    it("does not execute a request again whose idempotency key has its answer there, and then returns that answer", async () => {
      await using first = await startService();
      await using sql = await openDatabaseOf(first);
      const { key, trpc } = await signUpWithKey(first.baseUrl);
      const { id } = await trpc.account.get.query();
      await chat(first, key);
      await trpc.audit.list.query();
      const ask = (service: Service) =>
        sendChat(service.baseUrl, key, undefined, { headers: { "idempotency-key": "once" } });
      const renewedAt = async () => {
        const [row] = await sql<{ at: Date }[]>`
          select renewed_at as at from idempotent_requests where account_id = ${id}`;
        return row?.at.getTime() ?? 0;
      };
      const { answer, successor } = await inTransaction(sql, async (transaction) => {
        await transaction`select from audit_chains where account_id = ${id} for update`;
        // Its end waits for the database for some seconds. Then the journal is enough.
        const response = await ask(first);
        expect(response.status).toBe(200);
        const answer = await response.text();
        await first.kill();
        await sql`update idempotent_requests set renewed_at = now() - interval '50 seconds' where account_id = ${id}`;
        const leftMs = await renewedAt();
        const successor = await during(transaction, () => startService(inheritance(first)));
        const isRenewed = async () => {
          await transaction`select 1`;
          return (await renewedAt()) > leftMs;
        };
        await expect.poll(isRenewed, { timeout: 8_000 }).toBe(true);
        // As if it could not be renewed for long.
        await sql`update idempotent_requests set renewed_at = now() - interval '5 minutes' where account_id = ${id}`;
        const again = await ask(successor);
        expect(again.status).toBe(409);
        expect((await again.json()).error.code).toBe("idempotency_key_in_use");
        return { answer, successor };
      });
      await using _ = successor;
      await expect.poll(async () => (await ask(successor)).status, { timeout: 20_000 }).toBe(200);
      expect(await (await ask(successor)).text()).toBe(answer);
    });

    it("starts while what an earlier process has reserved of the account's credit cannot be freed, and frees it later", async () => {
      await using first = await startService();
      await using sql = await openDatabaseOf(first);
      const [locked, other] = [await signUpWithKey(first.baseUrl), await signUpWithKey(first.baseUrl)];
      const { id } = await locked.trpc.account.get.query();
      await first.kill();
      await sql`update accounts set free_nano_usd = free_nano_usd - 100 where id = ${id}`;
      await sql`
        insert into credit_reserves (account_id, spender, granted_nano_usd, number)
        select ${id}, id, 100, 1 from credit_spenders`;
      const successor = await inTransaction(sql, async (transaction) => {
        await transaction`select from accounts where id = ${id} for update`;
        const started = await during(transaction, () => startService(inheritance(first)));
        await transaction`select 1`;
        return started;
      });
      await using _ = successor;
      const spenders = () => sql`select from credit_spenders`;
      await expect.poll(async () => (await spenders()).length, { timeout: 20_000 }).toBe(1);
      for (const { key } of [other, locked])
        expect(await chat(successor, key)).toMatchObject({ status: 200 });
    });
  },
);

describe.runIf(canMountDisks)(
  "a repeated stream whose request can't be recorded, because the disk is full",
  () => {
    const user = { role: "user", content: "Hello" };
    it.each([
      ["chat/completions", { messages: [user] }, "data: [DONE]"],
      ["responses", { input: "Hello" }, "response.completed"],
      ["messages", { messages: [user], max_tokens: 9 }, "message_stop"],
    ])(
      "is refused before its first byte, and sent again when there is space: %s",
      async (path, body, end) => {
        await using first = await startService();
        const owner = await signUpWithKey(first.baseUrl);
        await first.stop();
        const folder = join(first.dataDir, "journal");
        using _disk = mountSmallDisk(folder, "size=256k,mode=700");
        await using service = await startService(inheritance(first));
        const ask = async () => {
          const response = await fetch(`${service.baseUrl}/v1/${path}`, {
            method: "POST",
            headers: {
              authorization: `Bearer ${owner.key}`,
              "content-type": "application/json",
              "idempotency-key": "once",
            },
            body: JSON.stringify({ model: "sandbox/echo", stream: true, ...body }),
          });
          const { status, headers } = response;
          return { status, type: headers.get("content-type")?.split(";")[0], text: await response.text() };
        };
        const answered = await ask();
        expect(answered).toMatchObject({ status: 200, text: expect.stringContaining(end) });

        const filler = join(folder, "filler");
        const { bavail, bsize } = await statfs(folder);
        await writeFile(filler, Buffer.alloc(bavail * bsize));
        await expect.poll(() => chat(service, owner.key)).toMatchObject({ status: 503 });
        expect(await ask()).toMatchObject({
          status: path === "messages" ? 529 : 503,
          type: "application/json",
          text: expect.stringContaining("cannot record requests"),
        });

        await rm(filler);
        await expect.poll(ask).toEqual(answered);
      },
    );
  },
);
