// What one account's heaviest use does to another account: the latency of RATE (200) requests a second of the other one, beside each of
// the things that the account does as much as it can, and beside nothing. The load, the databases and the model server take the same
// two processors, so each thing is also done at a second service on this machine, which shares nothing else with the account that is
// measured: what that does is the machine's part. By turns, SECONDS (6) each, ROUNDS (5) of them. ONLY names some of the uses. OUT is a
// file for the raw figures.
import { writeFile } from "node:fs/promises";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";
import { median } from "./measure.ts";
import { type Contestant, type OstiaryContestant, startModels, startOstiary } from "./peers/contestants.ts";
import { attack, type OpenLoop, saturate, writeRequest } from "./peers/load.ts";

const SECONDS = Number(process.env.SECONDS ?? 6);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const RATE = Number(process.env.RATE ?? 200);
/** Names of uses with `;` between them, `nothing` among them. */
const ONLY = process.env.ONLY?.split(";");
const WARM_UP_S = 10;
const DAY_MS = 24 * 60 * 60_000;

await using models = await startModels();
await using quiet = await startOstiary("quiet", models.origin, {});
await using other = await startOstiary("other", models.origin, {});
await using files = await writeRequest(quiet);
/** The account that does much: in the same service, and in the other one. */
const accounts: Readonly<Record<Place, Owner & { readonly key: string }>> = {
  same: await signUpWithKey(quiet.service.baseUrl),
  other: other.owner,
};
const services: Readonly<Record<Place, OstiaryContestant>> = { same: quiet, other };
await warmUp("same");
await warmUp("other");

const since = () => new Date(Date.now() - 365 * DAY_MS);
const body = (words: number) =>
  JSON.stringify({ model: "acme/inner", messages: [{ role: "user", content: "word ".repeat(words) }] });
const small = body(1);
/** Of about a megabyte. */
const large = body(200_000);

type Place = "same" | "other";

/** What an account does, and how many times at once. Each resolves when it was answered, or refused. */
const USES: readonly (readonly [name: string, atOnce: number, use: (at: Place) => Promise<unknown>])[] = [
  ["nothing", 0, async () => {}],
  ["exports of its log", 4, (at) => get(at, "/v1/audit/export")],
  ["pages of its log", 16, (at) => get(at, "/v1/audit?limit=200&model=unknown")],
  ["verifications of its log", 4, (at) => accounts[at].trpc.audit.verify.query({})],
  [
    "usage of a year",
    16,
    (at) => accounts[at].trpc.usage.summary.query({ from: since(), to: new Date(), interval: "day" }),
  ],
  ["bodies of a megabyte", 8, (at) => post(at, large)],
  ["requests over 256 connections", 256, (at) => post(at, small)],
];

const used = USES.filter(([name]) => ONLY?.includes(name) ?? true);
const results = new Map(
  used.map(([name]) => [name, { same: [] as OpenLoop[], other: [] as OpenLoop[] }] as const),
);
for (let round = 0; round < ROUNDS; round++)
  for (const [name, atOnce, use] of used)
    for (const at of ["same", "other"] as const) {
      const over = new AbortController();
      const users = Array.from({ length: atOnce }, () => repeat(() => use(at), over.signal));
      results.get(name)?.[at].push(await attack(quiet, files, { rate: RATE, seconds: SECONDS }));
      over.abort();
      await Promise.all(users);
    }

const of = (name: string, at: Place, value: (result: OpenLoop) => number) =>
  median((results.get(name)?.[at] ?? []).map(value));
const p99 = (name: string, at: Place) => of(name, at, ({ p99Ms }) => p99Ms);
const alone = p99("nothing", "same");
console.log(
  "| beside | answered | p50 ms | p99 ms | × nothing | p99 ms beside the same in another service | × that |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- |");
for (const name of results.keys()) {
  const [same, elsewhere] = [p99(name, "same"), p99(name, "other")];
  const p50 = of(name, "same", ({ p50Ms }) => p50Ms);
  // A refusal takes less time than an answer.
  const answered = `${(100 * of(name, "same", ({ success }) => success)).toFixed(1)} %`;
  const cells = [answered, p50.toFixed(1), same.toFixed(1), (same / alone).toFixed(2), elsewhere.toFixed(1)];
  console.log(`| ${[name, ...cells, (same / elsewhere).toFixed(2)].join(" | ")} |`);
}
if (process.env.OUT !== undefined)
  await writeFile(process.env.OUT, `${JSON.stringify(Object.fromEntries(results), null, 1)}\n`);

/** Compiles, and fills the log that is exported, verified and searched. */
async function warmUp(at: Place): Promise<void> {
  const account: Contestant = { ...services[at], headers: headersOf(at) };
  await using own = await writeRequest(account);
  await saturate(account, own, WARM_UP_S);
}

function headersOf(at: Place) {
  return { authorization: `Bearer ${accounts[at].key}` };
}

/** A refusal for too many expensive reads is an answer, too. */
async function repeat(use: () => Promise<unknown>, over: AbortSignal): Promise<void> {
  while (!over.aborted) await use().catch(() => {});
}

async function get(at: Place, path: string): Promise<void> {
  const response = await fetch(`${services[at].service.baseUrl}${path}`, { headers: headersOf(at) });
  for await (const _ of response.body ?? []);
}

async function post(at: Place, json: string): Promise<void> {
  const headers = { "content-type": "application/json", ...headersOf(at) };
  const response = await fetch(services[at].url, { method: "POST", headers, body: json });
  await response.arrayBuffer();
}
