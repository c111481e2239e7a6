import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    // Files start real servers, databases and browsers: more than two at once starve each other on small machines.
    maxWorkers: 2,
  },
});
