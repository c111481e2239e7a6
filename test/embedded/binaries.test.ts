import { existsSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedPostgresError } from "@ostiary/embedded-postgres";
import { describe, expect, it } from "vitest";
import { findBinaries, packageFor } from "../../packages/embedded-postgres/src/binaries.ts";

describe("the bundled PostgreSQL's programs", () => {
  it("are found for the current platform", () => {
    expect(existsSync(join(findBinaries(), "bin/postgres"))).toBe(true);
  });

  it("do not exist for some platforms, where the error says to set DATABASE_URL", () => {
    const windows = { os: "win32", arch: "x64", exists: () => true };
    expect(() => packageFor(windows)).toThrow(EmbeddedPostgresError);
    expect(() => packageFor(windows)).toThrow(
      "No bundled PostgreSQL for win32-x64; set DATABASE_URL to a PostgreSQL 15+ server.",
    );
  });

  it("do not run on musl, and the error says so", () => {
    expect(() => packageFor({ os: "linux", arch: "x64", exists: () => false })).toThrow(
      /without glibc .* set DATABASE_URL/,
    );
  });

  it("may be missing, and the error says so", () => {
    // Whichever platform this is, the package of another one is not.
    const arch = process.arch === "x64" ? "arm64" : "x64";
    expect(() => findBinaries({ os: "linux", arch, exists: () => true })).toThrow(
      /is not installed: run npm install .*DATABASE_URL/,
    );
  });
});
