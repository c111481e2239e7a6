import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/fixtures/prepared-folder.ts", "test/fixtures/prepared-database.ts"],
    // For what hangs. On a machine that others use too a start of the service has taken a quarter of a minute.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Files start real servers, databases and browsers: more than two at once starve each other on small machines.
    maxWorkers: 2,
  },
});
