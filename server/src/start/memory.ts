import { totalmem } from "node:os";
import process from "node:process";
import { getHeapStatistics } from "node:v8";
import { SHARE_OF_LARGE_BODIES } from "../admission/body-budget.ts";
import type { Config } from "../config/config.ts";

/** What a process may use before the system or V8 ends it. */
interface Memory {
  /** Of the machine, or of the container. */
  readonly bytes: number;
  /** Of V8's heap, which is within `bytes`. */
  readonly heapBytes: number;
}

type BodyLimits = Pick<Config, "maxUnfinishedBodyBytes" | "maxBodyBytes" | "workers">;

const MIB = 1024 * 1024;
/** What a busy node takes without bodies: 200 MiB, and 100 MiB of the bundled PostgreSQL. */
const OWN_BYTES = 300 * MIB;
/** The part of it on V8's heap, with 96 MiB for new objects. The tokenizer's 80 MiB are on the heap of another thread. */
const OWN_HEAP_BYTES = 140 * MIB;
/**
 * The maximum memory per byte of a body. While its request waits for a model, a byte takes 1 byte outside of the heap (the bytes that are sent) and 4
 * on it: the text and its values, with two bytes per character if one of them is not in Latin-1. The rest is for the received bytes and for the sent
 * text, which are not collected at once. Measured with bodies of 19 MB: 5 after a collection, up to 10 before.
 */
const BYTES_PER_BYTE = 9;
const HEAP_BYTES_PER_BYTE = 7;
/** A body of the maximum size must fit into the share of one account. */
const MIN_BODIES = 2;

/** What this process may use, with the limits of its control group and of Node's options. */
export function readMemory(): Memory {
  // Without a limit it is 0 or more than there is. Not every version of Deno has it.
  const limit = process.constrainedMemory?.() ?? 0;
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return { bytes, heapBytes: getHeapStatistics().heap_size_limit };
}

/** The bytes of request bodies that a process may have at once: what is configured, or else what fits into its memory. */
export function bodyBytesOf(config: BodyLimits, memory: Memory): number {
  const { maxUnfinishedBodyBytes: configured, maxBodyBytes } = config;
  return configured ?? Math.max(MIN_BODIES * maxBodyBytes, fittingBytes(config, memory));
}

/**
 * The bytes of answers that a process may have at once because clients do not read them. Measured: an answer takes 3 times its size, and a body
 * up to 10 times, so that this adds a sixth to what bodies may take.
 */
export function unreadBytesOf(config: BodyLimits, memory: Memory): number {
  return Math.floor(bodyBytesOf(config, memory) / 2);
}

/** A warning if a process has too little memory for the bodies that it may have at once, or for its own work. */
export function memoryWarnings(config: BodyLimits, memory: Memory): readonly string[] {
  const bytes = bodyBytesOf(config, memory);
  const fitting = fittingBytes(config, memory);
  if (bytes * SHARE_OF_LARGE_BODIES <= fitting) return [];
  const has = `${inMib(memory.bytes / config.workers)} MiB of memory, and ${inMib(memory.heapBytes)} MiB of heap at most`;
  if (fitting === 0) {
    return [`This process has ${has}: the system may end it under load. Give it 512 MiB or more.`];
  }
  const setting =
    config.maxUnfinishedBodyBytes === null ? "OSTIARY_MAX_BODY_BYTES" : "OSTIARY_MAX_UNFINISHED_BODY_BYTES";
  return [
    `Request bodies of ${inMib(bytes)} MiB at once (${setting}) may take more memory than this process has, and the system would end it: it has ${has}. Give it more memory, or lower the setting.`,
  ];
}

function fittingBytes({ workers }: BodyLimits, { bytes, heapBytes }: Memory): number {
  const room = (bytes / workers - OWN_BYTES) / BYTES_PER_BYTE;
  const heapRoom = (heapBytes - OWN_HEAP_BYTES) / HEAP_BYTES_PER_BYTE;
  return Math.max(0, Math.floor(Math.min(room, heapRoom)));
}

function inMib(bytes: number): number {
  return Math.round(bytes / MIB);
}
