import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { chooseCoding } from "./content-coding.ts";

/** Smaller bodies fit into a packet as they are. */
const MIN_BYTES = 1_024;
/** Compressions at once: zlib shares the process's few threads with other work. */
const MAX_AT_ONCE = 2;
/** A level that is as quick as gzip and compresses JSON better. */
const BROTLI_QUALITY = 4;

const CODERS = {
  br: (bytes: Uint8Array) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes: Uint8Array) => promisify(gzip)(bytes),
} as const;
type Coding = keyof typeof CODERS;
const CODINGS = Object.keys(CODERS) as readonly Coding[];

/** The bodies that are shared: the OpenAPI document, and the models in two forms. */
const MAX_KEPT = 3;

interface KeptBody {
  readonly body: string | Uint8Array;
  readonly coded: CodedBody;
}

interface CodedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly coding: Coding;
}

/** @returns `null` if the body is to be sent as it is. `isShared`: the same body will be sent again and again. */
export type Compress = (
  body: string | Uint8Array,
  acceptEncoding: string,
  isShared?: boolean,
) => Promise<CodedBody | null>;

/**
 * Creates a function that compresses whole bodies on other threads, as the client accepts. Small bodies, and bodies beyond what is
 * compressed at once, are sent as they are. Must not be used for answers that contain a secret and something that an attacker chose: the
 * length would reveal parts of the secret (BREACH).
 */
export function createCompressor(): Compress {
  let running = 0;
  /** Of each coding the last shared bodies, the newest first. */
  const kept = new Map<Coding, readonly KeptBody[]>();
  return async (body, acceptEncoding, isShared = false) => {
    if (body.length < MIN_BYTES) return null;
    const coding = chooseCoding(acceptEncoding, CODINGS);
    if (coding === null) return null;
    const known = isShared ? kept.get(coding)?.find((one) => one.body === body) : undefined;
    if (known !== undefined) return known.coded;
    if (running >= MAX_AT_ONCE) return null;
    running++;
    try {
      const bytes = await CODERS[coding](typeof body === "string" ? new TextEncoder().encode(body) : body);
      const coded = { bytes: new Uint8Array(bytes), coding };
      if (isShared) kept.set(coding, [{ body, coded }, ...(kept.get(coding) ?? [])].slice(0, MAX_KEPT));
      return coded;
    } finally {
      running--;
    }
  };
}
