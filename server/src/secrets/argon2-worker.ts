// Hashes or verifies one password in a thread of its own: see argon2.ts.
import { randomBytes } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { argon2id, argon2Verify } from "hash-wasm";
import type { Argon2Task } from "./argon2.ts";

const SALT_BYTES = 16;
const { password, hash }: Argon2Task = workerData;
parentPort?.postMessage(
  hash === null
    ? await argon2id({
        password,
        salt: randomBytes(SALT_BYTES),
        iterations: 2,
        memorySize: 19_456,
        parallelism: 1,
        hashLength: 32,
        outputType: "encoded",
      })
    : await argon2Verify({ password, hash }),
);
