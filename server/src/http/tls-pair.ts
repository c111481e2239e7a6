import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { fileReasonOf } from "../errors/system-errors.ts";
import { fileForMessage } from "../secrets/named-elsewhere.ts";

/** The files of a certificate with its chain, and of its private key, in PEM. */
interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate with its chain, and its private key. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
  /** When it begins to be valid. */
  readonly validFrom: Date;
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
  requireUsable(certFile, { cert, key });
  return { cert, key, validFrom: new Date(certificate.validFrom), expiresAt: new Date(certificate.validTo) };
}

/** Does what a server does with them: it also reads the intermediate certificates, and refuses a key that is too short. @throws {TlsPairError} */
function requireUsable(certFile: string, pair: { readonly cert: string; readonly key: string }): void {
  try {
    createSecureContext(pair);
  } catch (error) {
    const reason = error instanceof Error && "reason" in error ? ` (${error.reason})` : "";
    throw new TlsPairError(
      `TLS_CERT_FILE: the certificates of ${certFile} cannot be used${reason}. The file must have the whole certificate, followed by the intermediate certificates`,
    );
  }
}

/** A warning if clients refuse a certificate because of its dates; `null` otherwise. It is used all the same if there is no other. */
export function validityWarning(pair: TlsPair, now: Date): string | null {
  const dates = invalidDatesOf(pair, now);
  if (dates === null) return null;
  return `The certificate of TLS_CERT_FILE ${dates}, so clients refuse to connect. Renew its files; the service reloads them.`;
}

/** Which date makes clients refuse a certificate, as the end of a sentence that begins with its name; `null`: it is valid. */
function invalidDatesOf({ validFrom, expiresAt }: TlsPair, now: Date): string | null {
  if (expiresAt <= now) return `expired at ${expiresAt.toISOString()}`;
  if (validFrom > now) return `is not valid before ${validFrom.toISOString()}`;
  return null;
}

/** Why a certificate and its key can't be used, in one line that begins with a setting. */
class TlsPairError extends Error {
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

interface TlsWatchParts {
  readonly files: TlsFiles;
  /** The pair that is in use at first. */
  readonly first: TlsPair;
  /** If it rejects, it is called again by the next check. */
  readonly onRenewed: (pair: TlsPair) => Promise<void>;
  /** Called once for each broken state of the files. The pair that is in use stays. */
  readonly onBroken: (problem: string) => void;
  readonly now: () => Date;
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
   * replaced, linked or mounted, and a certificate that has become valid.
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
      const isOther = pair.cert !== this.#current.cert || pair.key !== this.#current.key;
      if (isOther) this.#requireAcceptance(pair);
      this.#problem = null;
      if (!isOther) return;
      await onRenewed(pair);
      this.#current = pair;
    } catch (error) {
      if (!(error instanceof TlsPairError)) throw error;
      if (error.message !== this.#problem) onBroken(error.message);
      this.#problem = error.message;
    }
  }

  /**
   * A certificate that clients refuse does not replace one that they accept.
   *
   * @throws {TlsPairError} if it would.
   */
  #requireAcceptance(pair: TlsPair): void {
    const now = this.#parts.now();
    const dates = invalidDatesOf(pair, now);
    if (dates === null || invalidDatesOf(this.#current, now) !== null) return;
    throw new TlsPairError(
      `TLS_CERT_FILE: the certificate in ${this.#parts.files.certFile} ${dates}. Replace it with a valid one`,
    );
  }
}
