import { isIP } from "node:net";
import { resolve } from "node:path";
import * as z from "zod";
import { parseNetworks } from "../networks/networks.ts";
import { entryForMessage } from "../secrets/named-elsewhere.ts";
import { SEAL_KEY_BYTES } from "../secrets/sealer.ts";
import { databaseUrlProblem } from "./database-url.ts";
import { parseRedisUrl, RedisUrlError } from "./redis-url.ts";
import { readText } from "./secret-files.ts";

// What is accepted as the value of a setting, and how it is read. Messages of problems never contain a secret.

/** A URL's text. Line breaks and tabs in it would be dropped: the lines of a file with two addresses would become one host. */
const urlText = z.string().regex(/^[^\t\r\n]*$/, { error: "must be a URL on one line", abort: true });

export const url = (...protocols: string[]) =>
  urlText.refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`,
  });

/** Whether a URL has no path, query, user or password, and its host no `*`, which stands for any name in a certificate. */
export function isOrigin(value: string): boolean {
  // What is no URL is reported as such.
  if (!URL.canParse(value)) return true;
  const { origin, href } = new URL(value);
  return href === `${origin}/` && !origin.includes("*");
}

/** Numbers with dots that are no address, such as `999.1.1.1` and `10.0.0`, are no name either. */
const HOST_NAME = /^(?!\d+\.[\d.]*$)[A-Za-z0-9._-]+$/;
export const host = z
  .string()
  .refine(
    (value) => isIP(value) !== 0 || HOST_NAME.test(value),
    "must be an address or a name, such as 127.0.0.1 or ::, without a scheme, brackets or a port",
  );

export const databaseUrl = urlText.superRefine((value, context) => {
  const message = databaseUrlProblem(value);
  if (message !== null) context.addIssue({ code: "custom", message });
});

export const redisUrl = urlText.superRefine((value, context) => {
  try {
    parseRedisUrl(value);
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error;
    context.addIssue({ code: "custom", message: error.message });
  }
});

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * The URL of an HTTP proxy, as programs accept it: `http://` may be omitted. The message of a problem never contains the URL, which may have a
 * password.
 */
export const proxy = urlText.transform((value, context): string => {
  const address = SCHEME.test(value) ? value : `http://${value}`;
  const { protocol = "", pathname, search = "", hash = "" } = URL.canParse(address) ? new URL(address) : {};
  if (/^https?:$/.test(protocol) && pathname === "/" && search + hash === "") return address;
  const message =
    "must be the scheme, host and port of an HTTP proxy, such as http://proxy.example.com:3128 or http://user:password@proxy.example.com:3128, with special characters of the password percent-encoded";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** Hosts that are reached without a proxy, separated by commas or spaces. */
export const noProxy = z
  .string()
  .transform((value) => value.split(/[\s,]+/).filter((part) => part !== ""))
  .superRefine((parts, context) => {
    for (const part of parts) {
      if (!part.includes("/") || parseNetworks([part]).problems.length === 0) continue;
      const message = `${entryForMessage(part)} must be a host such as models.example.com, an IP address, a CIDR block such as 10.0.0.0/8, or *`;
      context.addIssue({ code: "custom", message });
    }
  });

export const wholeNumber = (from: number, to: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${from} to ${to}`)
    .transform(Number)
    .refine((value) => value >= from && value <= to, `must be a whole number from ${from} to ${to}`);

export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(", ")}` });

const MAX_WORKERS = 256;

export const workers = z
  .string()
  .refine(
    (value) => value === "auto" || (/^[1-9]\d{0,2}$/.test(value) && Number(value) <= MAX_WORKERS),
    `must be auto, or a whole number from 1 to ${MAX_WORKERS}`,
  );

export const flag = oneOf(["0", "1"]).transform((value) => value === "1");

/** CIDR blocks, separated by commas. */
export const networks = z
  .string()
  .transform((value) => value.split(",").map((part) => part.trim()))
  .transform((parts) => parts.filter((part) => part !== ""))
  .superRefine((parts, context) => {
    for (const problem of parseNetworks(parts).problems)
      context.addIssue({ code: "custom", message: problem });
  });

/** As browsers name the scheme, host and port of a page. Applications that show pages have schemes of their own. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/i;

const WEB = /^https?:/i;

/** Origins of web pages, separated by commas, as browsers send them; or `*`. */
export const origins = z
  .string()
  .transform((value) => value.split(",").map((part) => part.trim()))
  .transform((parts) => parts.filter((part) => part !== ""))
  .superRefine((parts, context) => {
    if (parts.length === 1 && parts[0] === "*") return;
    for (const part of parts) {
      if (ORIGIN.test(part) && (!WEB.test(part) || URL.canParse(part))) continue;
      const message = `${entryForMessage(part)} must be the scheme, host and port of a page, such as https://chat.example.com, or * alone for every page`;
      context.addIssue({ code: "custom", message });
    }
  })
  .transform((parts) => parts.map(originAsSent));

/** Browsers omit the usual port, and write the host in lower case. */
function originAsSent(origin: string): string {
  return WEB.test(origin) && URL.canParse(origin) ? new URL(origin).origin : origin.toLowerCase();
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const HEX_KEY = new RegExp(`^[0-9A-Fa-f]{${2 * SEAL_KEY_BYTES}}$`);

/** Keys for encryption, separated by commas. The message of a problem never contains a key. */
export const sealKeys = z.string().transform((value, context): readonly Uint8Array[] => {
  const keys = value.split(",").map((part) => sealKeyOf(part.trim()));
  const valid = keys.filter((key) => key !== null);
  if (valid.length === keys.length) return valid;
  const message = `must be ${SEAL_KEY_BYTES} random bytes in base64 or hex, or several such keys separated by commas. \`openssl rand -base64 ${SEAL_KEY_BYTES}\` prints one`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

function sealKeyOf(text: string): Uint8Array | null {
  if (HEX_KEY.test(text)) return Buffer.from(text, "hex");
  const bytes = BASE64.test(text) ? Buffer.from(text, "base64") : Buffer.of();
  return bytes.length === SEAL_KEY_BYTES ? bytes : null;
}

/** A header in `name=value,…`, with a percent-encoded value. */
const NAMED_HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*=\s*[\x21-\x7e][\x20-\x7e]*$/;

/** Headers of HTTP as OpenTelemetry's variables have them. The message of a problem never contains a value. */
export const headers = z
  .string()
  .refine(
    (value) => value.split(",").every((pair) => pair.trim() === "" || NAMED_HEADER.test(pair.trim())),
    "must be headers such as authorization=Bearer%20…, separated by commas",
  );

/** An attribute in `name=value,…`, both percent-encoded. */
const ATTRIBUTE = /^(?:[^%=]|%[0-9A-Fa-f]{2})+=(?:[^%=]|%[0-9A-Fa-f]{2})*$/;

/** Attributes as OpenTelemetry's variables have them. It would drop all of them if one were wrong. */
export const resourceAttributes = z
  .string()
  .refine(
    (value) => value.split(",").every((pair) => pair.trim() === "" || ATTRIBUTE.test(pair.trim())),
    "must be attributes such as deployment.environment.name=staging, separated by commas and with percent-encoded values",
  );

const BEGIN_CERTIFICATE = "-----BEGIN CERTIFICATE-----";
const END_CERTIFICATE = "-----END CERTIFICATE-----";

/** The path of a file with certificates in PEM, as their text. */
export const certificates = z.string().transform((path, context): string => {
  try {
    const text = readText(resolve(path));
    const begun = text.split(BEGIN_CERTIFICATE).slice(1);
    if (begun.length > 0 && begun.every((rest) => rest.includes(END_CERTIFICATE))) return text;
    // A connection would only say that it does not trust the server's certificate.
    const message =
      begun.length === 0
        ? `the file ${path} has no certificate in PEM`
        : `the file ${path} has a certificate without an end. Copy the whole file`;
    context.addIssue({ code: "custom", message });
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
  }
  return z.NEVER;
});
