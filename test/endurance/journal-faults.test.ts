import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT, RUNTIME } from "../fixtures/service.ts";
import { visit } from "../fixtures/user.ts";
import { type FaultyNode, type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST, waitsFor } from "./gated-model.ts";
import { isDistributed } from "./load.ts";
import { type Account, expectPaid, openAccount } from "./money.ts";
import { answeredIds, ask, askTimes, askUntil, type Outcome, RECOVERY, statusesOf } from "./requests.ts";

const CREDIT = 10_000n * ANSWER_COST;
/** `prlimit` is part of util-linux and changes the file size limit of a running process. */
const canLimitFiles = isDistributed && runs("prlimit", "--version");
/** Whether file permissions can be made to apply: in a user namespace root has no right to override them. */
const canRunWithoutRights =
  isDistributed && RUNTIME === "node" && (process.getuid?.() !== 0 || runs("unshare", "-U", "true"));

let nodes: FaultyNodes;

beforeAll(async () => {
  if (isDistributed) nodes = await startFaultyNodes({ OSTIARY_LOG: "warn" });
});

afterEach(async ({ task }) => {
  const isBroken = task.result?.state === "fail";
  // A journal with which the node does not start must not make the other tests fail.
  if (isBroken && nodes !== undefined) {
    await nodes.node.kill();
    await rm(journalOf(nodes.node), { recursive: true, force: true });
  }
  await nodes?.node.mend(isBroken);
});

afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
});

function runs(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Makes writes of the node fail beyond this length of a file, in part as on a full disk. `unlimited` ends that. */
function limitFiles({ service }: FaultyNode, bytes: number | "unlimited"): void {
  // Only the soft limit: to raise the hard limit again would take privileges.
  execFileSync("prlimit", ["--pid", String(service.pid), `--fsize=${bytes}:`]);
}

function journalOf({ dataDir }: FaultyNode): string {
  return join(dataDir, "journal");
}

async function segmentsOf(node: FaultyNode): Promise<string[]> {
  const names = await readdir(journalOf(node));
  return names
    .filter((name) => name.endsWith(".ndjson"))
    .sort()
    .map((name) => join(journalOf(node), name));
}

async function filesBelow(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).map((name) => join(folder, name));
}

/** Whether a line of the journal is about a request: its id is that of the entry without dashes. */
function isLineOf(line: string, requestId: string): boolean {
  return line.replaceAll("-", "").includes(requestId.slice("req_".length));
}

describe.skipIf(!canLimitFiles)("a journal on a full disk", () => {
  it("keeps no line of a request that was refused for it", async () => {
    const { node, model, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const outcomes = await askTimes(5, node.baseUrl, account.key);
    // A test that is run again has a gate of its own again.
    const gate = `full disk ${account.accountId}`;
    const answers = askTimes(40, node.baseUrl, account.key, { content: waitsFor(gate) });
    await expect.poll(() => model.waiting(gate), { interval: 5 }).toBe(40);
    const [segment = ""] = (await segmentsOf(node)).slice(-1);
    const written = await readFile(segment, "utf8");
    const lineBytes = written.length / written.split("\n").length;
    // There is room for two and a half of the lines that are written together.
    limitFiles(node, Math.round(written.length + 2.5 * lineBytes));
    model.open(gate);
    outcomes.push(...(await answers));
    expect(statusesOf(outcomes)).toContain(503);
    limitFiles(node, "unlimited");
    outcomes.push(...(await askUntil(({ status }) => status === 200, node.baseUrl, account.key)));
    await node.kill();
    await node.start();
    await nodes.settled();
    await expectPaid(operator, account, outcomes);
  });

  it("leaves no empty files, and is written again as soon as there is room", async () => {
    const { node, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const outcomes = [await ask(node.baseUrl, account.key)];
    const before = (await segmentsOf(node)).length;
    limitFiles(node, 0);
    for (let count = 0; count < 20; count++) outcomes.push(await ask(node.baseUrl, account.key));
    expect(statusesOf(outcomes.slice(1))).toEqual([503]);
    expect((await segmentsOf(node)).length).toBeLessThanOrEqual(before + 1);
    limitFiles(node, "unlimited");
    outcomes.push(...(await askUntil(({ status }) => status === 200, node.baseUrl, account.key)));
    await nodes.settled();
    await expectPaid(operator, account, outcomes);
  });
});

describe.skipIf(!canLimitFiles)("requests that are answered when the disk gets full", () => {
  it("are recorded as refused once there is room, and leave no file when the node stops", async () => {
    const { node, model, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const first = await ask(node.baseUrl, account.key);
    const gate = `disk gets full ${account.accountId}`;
    const answers = askTimes(10, node.baseUrl, account.key, { content: waitsFor(gate) });
    await expect.poll(() => model.waiting(gate), { interval: 5 }).toBe(10);
    limitFiles(node, 0);
    model.open(gate);
    const refused = await answers;
    expect(statusesOf(refused)).toEqual([503]);
    limitFiles(node, "unlimited");
    const later = await askUntil(({ status }) => status === 200, node.baseUrl, account.key);
    await nodes.settled();
    await node.stop();
    expect(await segmentsOf(node)).toEqual([]);
    await node.start();
    const { trpc } = visit(node.baseUrl, { authorization: `Bearer ${account.key}` });
    const { entries } = await trpc.audit.list.query();
    const ending = { status: 503, errorCode: "server_is_overloaded", endReason: "refused" };
    for (const { id } of refused)
      expect(entries.find(({ requestId }) => requestId === id)).toMatchObject(ending);
    await expectPaid(operator, account, [first, ...refused, ...later]);
  });
});

describe.skipIf(!isDistributed)("a journal with unreadable lines", () => {
  let account: Account;
  let outcomes: Outcome[];

  it("does not prevent the node from starting: valid lines are charged, the others rejected and reported", async () => {
    const { node, operator } = nodes;
    account = await openAccount(operator, CREDIT);
    // Sets credit aside while the database can be reached.
    await ask(node.baseUrl, account.key);
    node.database.blackHole();
    outcomes = await askTimes(12, node.baseUrl, account.key);
    expect(statusesOf(outcomes)).toEqual([200]);
    await node.kill();
    const [refusedId = ""] = answeredIds(outcomes);
    const damaged = await damage(node, refusedId);
    node.database.heal();
    await node.start();
    await nodes.settled();
    const readable = outcomes.filter(({ id }) => id !== refusedId);
    await expectPaid(operator, account, readable);
    expect((await filesBelow(node.dataDir)).filter((name) => name.endsWith(".rejected"))).not.toEqual([]);
    expect(node.service.stderr()).toContain(basename(damaged));
    expect(await node.metric(/reject/)).toBeGreaterThan(0);
    expect(await node.readiness()).toBe(200);
    outcomes = [...readable, await ask(node.baseUrl, account.key)];
  });

  it("is charged once, even after another start", async () => {
    const { node, operator } = nodes;
    await node.kill();
    await node.start();
    await nodes.settled();
    await expectPaid(operator, account, outcomes);
  });
});

/**
 * Damages the journal: a line of garbage, a line of zeros, a line with a value that the database refuses, and a folder in
 * the place of a file. @returns the file with these lines.
 */
async function damage(node: FaultyNode, refusedId: string): Promise<string> {
  const segments = await segmentsOf(node);
  for (const segment of segments) {
    const lines = (await readFile(segment, "utf8")).split("\n");
    const at = lines.findIndex((line) => !line.startsWith("begun ") && isLineOf(line, refusedId));
    if (at === -1) continue;
    lines[at] = (lines[at] ?? "").replace("127.0.0.1", "127.0.0.z");
    lines.splice(at, 0, '["garbage', "\0".repeat(4_096));
    await writeFile(segment, lines.join("\n"));
    await mkdir(join(journalOf(node), "000000900000.ndjson"));
    return segment;
  }
  throw new Error("the journal has no such request");
}

describe.skipIf(!canRunWithoutRights)("a data folder that can't be written", () => {
  it("is reported with the name of its setting", async () => {
    const { node } = nodes;
    await node.stop();
    const folders = [node.dataDir, ...(await filesBelow(node.dataDir))];
    for (const folder of folders) await chmod(folder, 0o555).catch(() => {});
    const [command = "", ...args] = [
      ...(process.getuid?.() === 0 ? ["unshare", "-U"] : []),
      process.env.OSTIARY_TEST_NODE ?? process.execPath,
      join(ROOT, "server/dist/main.js"),
    ];
    const env = {
      PATH: process.env.PATH,
      OSTIARY_DATA_DIR: node.dataDir,
      DATABASE_URL: node.service.databaseUrl,
      PORT: "0",
    };
    const child = spawn(command, args, {
      cwd: ROOT,
      env,
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 20_000,
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    for (const folder of folders) await chmod(folder, 0o755).catch(() => {});
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("OSTIARY_DATA_DIR") });
  });
});

// The last test of this file, because the node has no folder to start on after it.
describe.skipIf(!isDistributed)("a data folder that vanishes", () => {
  it("makes /readyz fail, and is logged", async () => {
    const { node } = nodes;
    await rm(node.dataDir, { recursive: true, force: true });
    await expect.poll(node.readiness, RECOVERY).toBe(503);
    await expect.poll(node.service.stderr, RECOVERY).toContain(node.dataDir);
    await node.kill();
  });
});
