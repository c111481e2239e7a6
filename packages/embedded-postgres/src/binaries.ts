import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

const INSTEAD = "set DATABASE_URL to a PostgreSQL 15+ server";

const PLATFORMS: ReadonlySet<string> = new Set(["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]);

/** The dynamic loaders that the binaries require. A musl system has others. */
const GLIBC_LOADERS: Readonly<Record<string, string>> = {
  "linux-x64": "/lib64/ld-linux-x86-64.so.2",
  "linux-arm64": "/lib/ld-linux-aarch64.so.1",
};

/** The properties of the platform that decide which binaries fit. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
  exists(path: string): boolean;
}

const thisPlatform: Platform = { os: process.platform, arch: process.arch, exists: existsSync };

/** The npm package with the binaries for a platform. @throws {EmbeddedPostgresError} no package fits. */
export function packageFor({ os, arch, exists }: Platform): string {
  const name = `${os}-${arch}`;
  if (!PLATFORMS.has(name)) throw new EmbeddedPostgresError(`No bundled PostgreSQL for ${name}; ${INSTEAD}.`);
  const loader = GLIBC_LOADERS[name];
  if (loader !== undefined && !exists(loader)) {
    throw new EmbeddedPostgresError(`No bundled PostgreSQL for ${name} without glibc (musl?); ${INSTEAD}.`);
  }
  return `@embedded-postgres/${name}`;
}

/** The folder with `bin`, `lib` and `share`. @throws {EmbeddedPostgresError} the package is not installed. */
export function findBinaries(platform: Platform = thisPlatform): string {
  const name = packageFor(platform);
  try {
    // The package is resolved by name, which works from the sources and from the bundle alike.
    return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native");
  } catch (cause) {
    const message = `${name} is not installed: run npm install without --omit=optional, or ${INSTEAD}.`;
    throw new EmbeddedPostgresError(message, { cause });
  }
}
