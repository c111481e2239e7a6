// What each promise costs: CPU time of a request that is only authenticated and forwarded, and what limits, credit, the journal, the
// log in the database, its chain and metrics add to it. The variants are asked in turns in one run. SECONDS and ROUNDS say how long it takes,
// OUT is a file for the raw figures.
import { writeFile } from "node:fs/promises";
import { openDatabaseOf } from "../fixtures/database.ts";
import { median } from "./measure.ts";
import { type Contestant, startModels, startOstiary } from "./peers/contestants.ts";
import { type RequestFiles, type Saturated, saturate, writeRequest } from "./peers/load.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const SECONDS = Number(process.env.SECONDS ?? 5);

/** In the order in which they are added. `chain` is a part of what the database does. */
const PARTS = ["limits", "credit", "journal", "log in the database", "chain", "metrics"];

interface Variant extends AsyncDisposable {
  readonly name: string;
  readonly contestant: Contestant;
  readonly files: RequestFiles;
  readonly results: Saturated[];
}

await using models = await startModels();
const variants: Variant[] = [];
try {
  for (let added = 0; added <= PARTS.length; added++) variants.push(await startVariant(added));
  for (const { contestant, files } of variants) await saturate(contestant, files, 2 * SECONDS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { contestant, files, results } of variants) {
      results.push(await saturate(contestant, files, SECONDS));
    }
  }
  print();
  if (process.env.OUT !== undefined) {
    const raw = variants.map(({ name, results }) => ({ name, results }));
    await writeFile(process.env.OUT, `${JSON.stringify(raw, null, 1)}\n`);
  }
} finally {
  for (const variant of variants) await variant[Symbol.asyncDispose]();
}

async function startVariant(added: number): Promise<Variant> {
  const name = added === 0 ? "authentication" : `+ ${PARTS[added - 1]}`;
  const missing = PARTS.slice(added);
  const entry = new URL("peers/partial-service.ts", import.meta.url).pathname;
  const contestant = await startOstiary(name, models.origin, {
    command: [process.execPath, "--import", "tsx", entry],
    env: { WITHOUT: missing.join(",") },
    prepare: async (service) => {
      if (!missing.includes("chain")) return;
      await using sql = await openDatabaseOf(service);
      await sql.unsafe(
        "create or replace function entry_digest(entry audit_entries) returns bytea language sql immutable as $$ select '\\x00'::bytea $$",
      );
    },
  });
  const files = await writeRequest(contestant);
  return {
    name,
    contestant,
    files,
    results: [],
    [Symbol.asyncDispose]: async () => {
      await files[Symbol.asyncDispose]();
      await contestant[Symbol.asyncDispose]();
    },
  };
}

function print(): void {
  console.log(
    "| a request with | CPU µs | more | µs of the database | more |\n| --- | --- | --- | --- | --- |",
  );
  let before = { own: 0, stores: 0 };
  for (const { name, results } of variants) {
    const own = median(results.map(({ cpu }) => cpu.own));
    const stores = median(results.map(({ cpu }) => cpu.stores));
    const more = [own - before.own, stores - before.stores].map((us) => us.toFixed(1));
    console.log(`| ${[name, own.toFixed(1), more[0], stores.toFixed(1), more[1]].join(" | ")} |`);
    before = { own, stores };
  }
}
