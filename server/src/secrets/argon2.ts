import { createRequire } from "node:module";
import process from "node:process";
import { programBeside, runInWorker } from "../resources/run-in-worker.ts";

/** Argon2id with oslo's parameters (19 MiB, 2 passes, 1 lane: OWASP's recommendation), in PHC string format. */
interface Argon2 {
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

/** What a worker does: hashes the password, or verifies it if there is a hash. */
export interface Argon2Task {
  readonly password: string;
  readonly hash: string | null;
}

const WORKER = programBeside(import.meta.url, "argon2-worker");
/** A hash takes a fifth of a second. */
const TIMEOUT_MS = 30_000;

let loaded: Promise<Argon2> | null = null;

export async function hashPassword(password: string): Promise<string> {
  return (await loadArgon2()).hash(password.normalize("NFKC"));
}

export async function verifyPassword(hash: string, password: string): Promise<boolean> {
  return (await loadArgon2()).verify(hash, password.normalize("NFKC"));
}

/**
 * The native implementation, which hashes on threads. Its binaries are optional packages: an installation with `--omit=optional`, or on a
 * platform that has none, gets the one in WebAssembly, which takes several times as long.
 */
function loadArgon2(): Promise<Argon2> {
  loaded ??= implementation().catch((error) => {
    // The next call tries again: the process may have been unable to open more files.
    loaded = null;
    throw error;
  });
  return loaded;
}

async function implementation(): Promise<Argon2> {
  if (!hasNative()) return inWorkers;
  const { Argon2id } = await import("oslo/password");
  return new Argon2id();
}

/** Whether there are binaries for this platform: without them, oslo's import logs an error and ends the process. */
function hasNative(): boolean {
  const { resolve } = createRequire(import.meta.url);
  const name = `@node-rs/argon2-${process.platform}-${process.arch}`;
  try {
    // They are packages of the package that oslo imports.
    const from = resolve("@node-rs/argon2", { paths: [resolve("oslo")] });
    return ["", "-gnu", "-musl", "-msvc"].some((suffix) => isInstalled(name + suffix, from));
  } catch {
    return false;
  }
}

function isInstalled(name: string, from: string): boolean {
  try {
    createRequire(from).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** WebAssembly would stop all requests while it hashes, so each hash has a thread of its own. */
const inWorkers: Argon2 = {
  hash: async (password) => String(await inWorker({ password, hash: null })),
  verify: async (hash, password) => (await inWorker({ password, hash })) === true,
};

function inWorker(task: Argon2Task): Promise<unknown> {
  return runInWorker(task, { url: WORKER, timeoutMs: TIMEOUT_MS, does: "hashes a password" });
}
