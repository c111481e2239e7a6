import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileReasonOf } from "../errors/system-errors.ts";
import { fileForMessage } from "../secrets/named-elsewhere.ts";

/** The files of a certificate with its chain, and of its private key, in PEM. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate with its chain, and its private key. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
  readonly expiresAt: Date;
}

/**
 * Reads a certificate and its key.
 *
 * @throws {TlsPairError} when they can't be used: a file can't be read, is no PEM, or the key is another certificate's.
 */
export async function readTlsPair({ certFile, keyFile }: TlsFiles): Promise<TlsPair> {
  const [cert, key] = await Promise.all([read("TLS_CERT_FILE", certFile), read("TLS_KEY_FILE", keyFile)]);
  const certificate = parsed(`TLS_CERT_FILE: ${certFile} has no certificate in PEM`, () => {
    return new X509Certificate(cert);
  });
  const privateKey = parsed(`TLS_KEY_FILE: ${keyFile} has no private key in PEM without a passphrase`, () => {
    return createPrivateKey(key);
  });
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TlsPairError(`TLS_KEY_FILE: ${keyFile} is not the key of the certificate in ${certFile}`);
  }
  return { cert, key, expiresAt: new Date(certificate.validTo) };
}

/** A warning if a certificate has expired; `null` otherwise. The certificate is used all the same, because there is no other. */
export function expiryWarning({ expiresAt }: TlsPair, now: Date): string | null {
  if (expiresAt > now) return null;
  return `The certificate of TLS_CERT_FILE expired at ${expiresAt.toISOString()}, so clients refuse to connect. Renew its files; the service reloads them.`;
}

/** Why a certificate and its key can't be used, in one line that begins with a setting. */
export class TlsPairError extends Error {
  override readonly name = "TlsPairError";
  /** The property by which the start finds the problems of settings, as in `ConfigError`. */
  get problems(): readonly string[] {
    return [this.message];
  }
}

async function read(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new TlsPairError(`${variable}: ${fileForMessage(path)} cannot be read: ${fileReasonOf(error)}`);
  }
}

function parsed<Result>(problem: string, parse: () => Result): Result {
  try {
    return parse();
  } catch {
    // The parser's message may repeat a part of the key.
    throw new TlsPairError(problem);
  }
}

export interface TlsWatchParts {
  readonly files: TlsFiles;
  /** The pair that is in use at first. */
  readonly first: TlsPair;
  /** If it rejects, it is called again by the next check. */
  readonly onRenewed: (pair: TlsPair) => Promise<void>;
  /** Called once for each broken state of the files. The pair that is in use stays. */
  readonly onBroken: (problem: string) => void;
}

/** Detects when the files of a certificate change. */
export class TlsWatch {
  readonly #parts: TlsWatchParts;
  #current: TlsPair;
  #problem: string | null = null;
  #checking: Promise<void> = Promise.resolve();

  constructor(parts: TlsWatchParts) {
    this.#parts = parts;
    this.#current = parts.first;
  }

  /** When the certificate that is in use expires. */
  get expiresAt(): Date {
    return this.#current.expiresAt;
  }

  /**
   * Reads the files, and passes on a pair that differs. Call it every few seconds: polling also detects files that are
   * replaced, linked or mounted.
   */
  check(): Promise<void> {
    // A check that failed must not prevent later ones.
    this.#checking = this.#checking.catch(() => {}).then(() => this.#check());
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { files, onRenewed, onBroken } = this.#parts;
    try {
      const pair = await readTlsPair(files);
      this.#problem = null;
      if (pair.cert === this.#current.cert && pair.key === this.#current.key) return;
      await onRenewed(pair);
      this.#current = pair;
    } catch (error) {
      if (!(error instanceof TlsPairError)) throw error;
      if (error.message !== this.#problem) onBroken(error.message);
      this.#problem = error.message;
    }
  }
}
