import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** The length of a key of {@link Sealer}. */
export const SEAL_KEY_BYTES = 32;

const CIPHER = "aes-256-gcm";
const VERSION = 1;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES;
/** The beginning of a sealed text, which distinguishes it from data that providers have encrypted. */
export const SEALED_TEXT_PREFIX = "ost1.";

interface SealKey {
  readonly id: Buffer;
  readonly secret: Uint8Array;
}

/**
 * Encrypts content at rest with AES-256-GCM. The context, such as the account and the name of what is sealed, is authenticated:
 * content that was moved to another context does not open.
 *
 * Sealed bytes are a version (1 byte), the key's id (4), a random nonce (12), the ciphertext and the tag (16). Random nonces suffice for
 * 4 billion seals under one key (NIST SP 800-38D, section 8.3). The first key seals and all keys open, so that a key can be replaced while
 * content that it sealed is still in use.
 */
export class Sealer {
  readonly #current: SealKey;
  readonly #keys: readonly SealKey[];

  /** @throws {RangeError} unless there is a key and each has {@link SEAL_KEY_BYTES} bytes. */
  constructor(secrets: readonly Uint8Array[]) {
    this.#keys = secrets.map(sealKeyOf);
    const [current] = this.#keys;
    if (current === undefined) throw new RangeError("a sealer needs a key");
    this.#current = current;
  }

  /** Seals bytes, which become 33 bytes longer. */
  sealBytes(plain: Uint8Array, context: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const head = Buffer.concat([Buffer.of(VERSION), this.#current.id, nonce]);
    const cipher = createCipheriv(CIPHER, this.#current.secret, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(authenticated(head, context));
    return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** @returns `null` unless one of the keys has sealed exactly these bytes in this context. */
  openBytes(sealed: Uint8Array, context: string): Buffer | null {
    if (sealed.length < HEAD_BYTES + TAG_BYTES || sealed[0] !== VERSION) return null;
    const head = sealed.subarray(0, HEAD_BYTES);
    const keyId = head.subarray(1, 1 + KEY_ID_BYTES);
    const key = this.#keys.find(({ id }) => id.equals(keyId));
    if (key === undefined) return null;
    const nonce = head.subarray(1 + KEY_ID_BYTES);
    const decipher = createDecipheriv(CIPHER, key.secret, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(authenticated(head, context));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    try {
      const plain = decipher.update(sealed.subarray(HEAD_BYTES, sealed.length - TAG_BYTES));
      return Buffer.concat([plain, decipher.final()]);
    } catch {
      // The tag does not match: the content, the context or the key is another one.
      return null;
    }
  }

  /** Seals a short text that clients carry, as `ost1.` and base64url. */
  seal(text: string, context: string): string {
    return SEALED_TEXT_PREFIX + this.sealBytes(Buffer.from(text), textContext(context)).toString("base64url");
  }

  /** @returns `null` for what {@link seal} has not returned for this context. */
  open(sealed: string, context: string): string | null {
    if (!sealed.startsWith(SEALED_TEXT_PREFIX)) return null;
    const encoded = sealed.slice(SEALED_TEXT_PREFIX.length);
    const bytes = Buffer.from(encoded, "base64url");
    // Node skips characters that are not base64url.
    if (bytes.toString("base64url") !== encoded) return null;
    return this.openBytes(bytes, textContext(context))?.toString() ?? null;
  }
}

function sealKeyOf(secret: Uint8Array): SealKey {
  if (secret.length !== SEAL_KEY_BYTES) throw new RangeError(`a key has ${SEAL_KEY_BYTES} bytes`);
  const digest = createHash("sha256").update("ostiary seal key\n").update(secret).digest();
  return { id: digest.subarray(0, KEY_ID_BYTES), secret };
}

/** The head has a fixed length, so that no two pairs of head and context are alike. */
function authenticated(head: Uint8Array, context: string): Buffer {
  return Buffer.concat([head, Buffer.from(context)]);
}

/** Texts and bytes never open as each other. */
function textContext(context: string): string {
  return `text\n${context}`;
}
