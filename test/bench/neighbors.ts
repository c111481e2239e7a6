// What one account's heaviest use does to another account: the latency of RATE (200) requests a second of the other one, beside each of
// the things that the account does as much as it can, and beside nothing. By turns, SECONDS (6) each, ROUNDS (5) of them. The load takes
// a part of the processor, too, as it does from any program that it shares a machine with: figures are ratios to `nothing`. ONLY names
// some of the uses.
import { type Owner, signUpWithKey } from "../fixtures/user.ts";
import { median } from "./measure.ts";
import { type Contestant, startModels, startOstiary } from "./peers/contestants.ts";
import { attack, type OpenLoop, saturate, writeRequest } from "./peers/load.ts";

const SECONDS = Number(process.env.SECONDS ?? 6);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const RATE = Number(process.env.RATE ?? 200);
/** Names of uses with `;` between them, `nothing` among them. */
const ONLY = process.env.ONLY?.split(";");
/** Fills the log that is exported, verified and searched. */
const WARM_UP_S = 10;
const DAY_MS = 24 * 60 * 60_000;

await using models = await startModels();
await using quiet = await startOstiary("quiet", models.origin, {});
const owner: Owner & { readonly key: string } = await signUpWithKey(quiet.service.baseUrl);
const heavy: Contestant = { ...quiet, headers: { authorization: `Bearer ${owner.key}` } };
await using files = await writeRequest(quiet);
await using heavyFiles = await writeRequest(heavy);
await saturate(heavy, heavyFiles, WARM_UP_S);

const since = () => new Date(Date.now() - 365 * DAY_MS);
const body = (words: number) =>
  JSON.stringify({ model: "acme/inner", messages: [{ role: "user", content: "word ".repeat(words) }] });
const small = body(1);
/** Of about a megabyte. */
const large = body(200_000);

/** What the account does, and how many times at once. Each resolves when it was answered, or refused. */
const USES: readonly (readonly [name: string, atOnce: number, use: () => Promise<unknown>])[] = [
  ["nothing", 0, async () => {}],
  ["exports of its log", 4, () => get("/v1/audit/export")],
  ["pages of its log", 16, () => get("/v1/audit?limit=200&model=unknown")],
  ["verifications of its log", 4, () => owner.trpc.audit.verify.query({})],
  [
    "usage of a year",
    16,
    () => owner.trpc.usage.summary.query({ from: since(), to: new Date(), interval: "day" }),
  ],
  ["bodies of a megabyte", 8, () => post(large)],
  ["requests over 256 connections", 256, () => post(small)],
];

const used = USES.filter(([name]) => ONLY?.includes(name) ?? true);
const results = new Map<string, OpenLoop[]>(used.map(([name]) => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, atOnce, use] of used) {
    const over = new AbortController();
    const users = Array.from({ length: atOnce }, () => repeat(use, over.signal));
    results.get(name)?.push(await attack(quiet, files, { rate: RATE, seconds: SECONDS }));
    over.abort();
    await Promise.all(users);
  }
}

const of = (name: string, value: (result: OpenLoop) => number) =>
  median((results.get(name) ?? []).map(value));
const alone = of("nothing", ({ p99Ms }) => p99Ms);
console.log("| beside | p50 ms | p99 ms | × nothing |\n| --- | --- | --- | --- |");
for (const name of results.keys()) {
  const [p50, p99] = [of(name, ({ p50Ms }) => p50Ms), of(name, ({ p99Ms }) => p99Ms)];
  console.log(`| ${name} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${(p99 / alone).toFixed(2)} |`);
}

/** A refusal for too many expensive reads is an answer, too. */
async function repeat(use: () => Promise<unknown>, over: AbortSignal): Promise<void> {
  while (!over.aborted) await use().catch(() => {});
}

async function get(path: string): Promise<void> {
  const response = await fetch(`${quiet.service.baseUrl}${path}`, { headers: heavy.headers });
  for await (const _ of response.body ?? []);
}

async function post(json: string): Promise<void> {
  const headers = { "content-type": "application/json", ...heavy.headers };
  const response = await fetch(heavy.url, { method: "POST", headers, body: json });
  await response.arrayBuffer();
}
