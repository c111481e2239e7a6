import { defineConfig } from "vitest/config";
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

/** Begins with long files, so that none of them runs alone at the end. A new checkout knows sizes of files only, not how long they take. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const index = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return index === -1 ? LONG.length : index;
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/fixtures/prepared-folder.ts", "test/fixtures/prepared-database.ts"],
    sequence: { sequencer: LongFilesFirst },
    // For what hangs. On a machine that others use too a start of the service has taken a quarter of a minute.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Files start real servers, databases and browsers. A file uses a third of a core on average.
    maxWorkers: 2,
  },
});
