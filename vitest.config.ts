import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longest, most of the time by waiting. */
const LONG = [
  "integration/nodes",
  "integration/nodes-redis",
  "simulation/simulation",
  "installation/npm-package",
  "deployment/image",
  "endurance/kills",
  "endurance/restore",
  "integration/security-event-storage",
  "integration/stores-away",
  "clients/connect",
  "browser/pages",
  "browser/trouble",
  "embedded/crash",
  "browser/rotation",
  "documents/runnable-snippets",
  "sdk/package-release",
  "endurance/stores",
  "endurance/credit-faults",
  "integration/sign-in",
  "integration/deadlines",
  "integration/versions",
  "integration/clocks",
  "attack/bodies",
  "attack/parsing",
  "integration/sign-in-alone",
  "simulation/credit-model",
  "integration/survival",
  "wires/messages-silence",
];

/**
 * Begins with long files, so that none of them runs alone at the end. A new checkout knows sizes of files only, not how long they take.
 * Files that have a worker for themselves come first: a worker that others share ends before one of them.
 */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  if (project.name === "alone") return -1;
  const index = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return index === -1 ? LONG.length : index;
}

/**
 * Files that replace modules or globals, or change how the engine works. Others would get these, too. Folders below are not
 * entered: programs that another run of the tests installs there come and go.
 */
const CHANGING = readdirSync("test", { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
  .flatMap(({ name }) => readdirSync(`test/${name}`).map((file) => `test/${name}/${file}`))
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => /\bvi\.(?:mock|stubGlobal)\(|\bsetFlagsFromString\(/.test(readFileSync(file, "utf8")));

/** Vitest does not tell projects what its command line excludes. */
const EXCLUDED = process.argv
  .filter((option) => option.startsWith("--exclude="))
  .map((option) => option.slice("--exclude=".length));
const exclude = [...configDefaults.exclude, ...EXCLUDED];

export default defineConfig({
  test: {
    // Files share a worker and the modules that it has loaded: a file takes half a second less of a processor.
    projects: [
      { extends: true, test: { name: "alone", include: CHANGING, exclude } },
      {
        extends: true,
        test: {
          name: "together",
          include: ["test/*.test.ts", "test/*/*.test.ts"],
          exclude: [...exclude, ...CHANGING],
          isolate: false,
        },
      },
    ],
    globalSetup: ["test/fixtures/prepared-folder.ts", "test/fixtures/prepared-database.ts"],
    sequence: { sequencer: LongFilesFirst },
    // For what hangs. On a machine that others use too, tests have taken ten times as long as alone.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    // Files start real servers, databases and browsers. A file uses a third of a core on average.
    maxWorkers: 2,
  },
});
