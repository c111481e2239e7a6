import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { envelopeOf, Failure, headersOf } from "../errors/failure.ts";
import { chooseCoding } from "../operations/content-coding.ts";
import type { BodyOfShared } from "./listener.ts";

/** The suffixes of compressed files by coding, best first. */
const SUFFIXES = { br: ".br", gzip: ".gz" } as const;
type Coding = keyof typeof SUFFIXES;
const CODINGS = Object.keys(SUFFIXES) as readonly Coding[];

/** The content of a file in one coding. */
interface Representation {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The validator is made for the first answer: a start of the service takes no digest of hundreds of files. */
  headers(): Readonly<Record<string, string>> & { readonly etag: string };
}

interface File {
  readonly asItIs: Representation;
  /** Only codings that make the file smaller. */
  readonly coded: ReadonlyMap<Coding, Representation>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
  ".tgz": "application/gzip",
};

/** Files whose names change with their content: assets have a digest in it, and the SDK its version. */
const IMMUTABLE: readonly RegExp[] = [/^assets\//, /^docs\/assets\//, /^sdk\/ostiary-\d/];

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "object-src 'none'",
  // The dashboard never writes markup, so text cannot become script through the document.
  "require-trusted-types-for 'script'",
].join("; ");

/** Denies features that the dashboard does not use, in case a script is injected. Copying a key needs the clipboard. */
const PERMISSIONS_POLICY = [
  "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), idle-detection=()",
  "local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), screen-wake-lock=(), serial=(), usb=()",
  "xr-spatial-tracking=(), clipboard-write=(self)",
].join(", ");

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "permissions-policy": PERMISSIONS_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** A year (RFC 6797). Subdomains are not included, because they may belong to other services. */
const STRICT_TRANSPORT = "max-age=31536000";

/** The pages before sign-in. They are a document of their own, which loads less script. */
const SIGN_IN_PATHS: readonly string[] = ["/sign-in", "/sign-up"];

/** The built dashboard and what is served beside it, in memory. It is small, and a missing file is noticed at start. */
export class Dashboard {
  readonly #files: ReadonlyMap<string, File>;
  readonly #isHttps: boolean;

  private constructor(files: ReadonlyMap<string, File>, isHttps: boolean) {
    this.#files = files;
    this.#isHttps = isHttps;
  }

  /**
   * @param folders Built files, served below `/`. No two folders have a file of the same path.
   * @param isHttps whether browsers reach the service by HTTPS. If so, a header makes them use HTTPS only.
   * @throws {Error} when the folder holds no built dashboard.
   */
  static async load(folders: readonly URL[], { isHttps }: { readonly isHttps: boolean }): Promise<Dashboard> {
    const files = new Map<string, File>();
    for (const folder of folders) {
      const root = fileURLToPath(folder);
      const names = new Set(filesBelow(root));
      for (const name of names) {
        if (isCoded(name, names)) continue;
        files.set(pathOfFile(name), load(root, name, names));
        // Other parts of the start continue in between, such as those that wait for the database.
        await setImmediate();
      }
    }
    return new Dashboard(files, isHttps);
  }

  /**
   * Answers with a file, or with the dashboard's page for every other path, whose router handles unknown ones. Unknown
   * paths of the documentation are answered with 404 and a page that says so.
   *
   * @param bodyOfShared by default, the runtime gets the whole file.
   */
  answer(request: Request, bodyOfShared: BodyOfShared = (bytes) => bytes): Response {
    const response = this.#answer(request, bodyOfShared);
    if (this.#isHttps) response.headers.set("strict-transport-security", STRICT_TRANSPORT);
    return response;
  }

  #answer(request: Request, bodyOfShared: BodyOfShared): Response {
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = "Use GET or HEAD here. The operations of the API are below `/v1`.";
      return refuse(new Failure("method_not_allowed", message, { headers: { allow: "GET, HEAD" } }));
    }
    const { pathname } = new URL(request.url);
    const file = this.#files.get(pathname) ?? this.#files.get(pathname.replace(/^(\/docs.*)\/$/, "$1"));
    if (file !== undefined && pathname !== "/index.html") return respond(request, file, bodyOfShared);
    const missing = this.#files.get("/docs/404");
    if (missing !== undefined && pathname.startsWith("/docs/"))
      return respond(request, missing, bodyOfShared, 404);
    const page = this.#files.get(SIGN_IN_PATHS.includes(pathname) ? "/sign-in.html" : "/index.html");
    if (page === undefined || !isPagePath(pathname))
      return refuse(
        new Failure(
          "not_found",
          "No such file exists. Check the path, or reload the page to get its present version.",
        ),
      );
    return respond(request, page, bodyOfShared);
  }
}

/** A part that begins with a dot, as in `/.env`, which only those ask for who look for secrets. */
const HIDDEN_PART = /\/\./;

/** Returns whether the router may have a page at the path. A path with an extension is that of a file, except below `/models/`: names of models may have a dot. */
function isPagePath(pathname: string): boolean {
  if (pathname === "/index.html" || pathname.startsWith("/models/")) return true;
  return extname(pathname) === "" && !HIDDEN_PART.test(pathname);
}

function respond(
  request: Request,
  { asItIs, coded }: File,
  bodyOfShared: BodyOfShared,
  status = 200,
): Response {
  const coding = chooseCoding(request.headers.get("accept-encoding") ?? "", [...coded.keys()]);
  const representation = (coding === null ? undefined : coded.get(coding)) ?? asItIs;
  const headers = representation.headers();
  if (status === 200 && isHeld(request.headers.get("if-none-match"), headers.etag)) {
    return new Response(null, { status: 304, headers });
  }
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const { bytes } = representation;
  const body = bodyOfShared(bytes);
  if (body === null) return refuse(tooMuchUnread());
  if (body === bytes) return new Response(bytes, { status, headers });
  return new Response(body, { status, headers: { ...headers, "content-length": String(bytes.length) } });
}

function tooMuchUnread(): Failure {
  const message = "Answers that were sent to this address are not read. Read or close them, then try again.";
  return new Failure("server_is_overloaded", message, { retryAfterMs: 1_000 });
}

/** Returns whether the client holds this content (RFC 9110, section 13.1.2). Proxies may have weakened its validator. */
function isHeld(ifNoneMatch: string | null, etag: string): boolean {
  const held = ifNoneMatch?.split(",").map((text) => text.trim().replace(/^W\//, "")) ?? [];
  return held.some((text) => text === etag || text === "*");
}

/** An error in the form of the API, which programs that send to a wrong path can read. */
function refuse(failure: Failure): Response {
  // A file that is missing on one node may be one that another has, while a new version is rolled out.
  const headers = { ...SECURITY_HEADERS, "cache-control": "no-store", ...headersOf(failure) };
  return Response.json(envelopeOf(failure), { status: failure.status, headers });
}

/**
 * Returns the paths of files, from the folder on. `relative` and URLs of files take as long as it takes to read hundreds of small files.
 *
 * @param root ends with a slash.
 */
function filesBelow(root: string): string[] {
  return (
    readdirSync(root, { withFileTypes: true, recursive: true })
      // The build writes a stamp whose name begins with a dot.
      .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
  );
}

/** The path that a file is served at: pages of the documentation have no extension, and its index is `/docs`. */
function pathOfFile(name: string): string {
  const page = /^(docs\/.*)\.html$/.exec(name)?.[1];
  return page === undefined ? `/${name}` : `/${page.replace(/\/index$/, "")}`;
}

/** Returns whether the file is the compressed form of another file. */
function isCoded(name: string, names: ReadonlySet<string>): boolean {
  return CODINGS.some(
    (coding) => name.endsWith(SUFFIXES[coding]) && names.has(name.slice(0, -SUFFIXES[coding].length)),
  );
}

/** Reads without the thread pool, through which hundreds of small files one by one take ten times as long. */
function load(root: string, name: string, names: ReadonlySet<string>): File {
  const read = (path: string) => readFileSync(root + path);
  const codings = CODINGS.filter((coding) => names.has(name + SUFFIXES[coding]));
  const headers = headersFor(name, codings.length > 0);
  const coded = new Map<Coding, Representation>();
  for (const coding of codings) {
    const bytes = read(name + SUFFIXES[coding]);
    coded.set(coding, representation(bytes, { ...headers, "content-encoding": coding }));
  }
  return { asItIs: representation(read(name), headers), coded };
}

/** Each coding has its own validator, because the bytes differ (RFC 9110, section 8.8.3.3). */
function representation(
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
): Representation {
  let etag: string | null = null;
  return {
    bytes,
    headers: () => {
      etag ??= `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
      return { ...headers, etag };
    },
  };
}

function headersFor(name: string, isVaried: boolean): Record<string, string> {
  const isImmutable = IMMUTABLE.some((pattern) => pattern.test(name));
  return {
    "content-type": CONTENT_TYPES[extname(name)] ?? "application/octet-stream",
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    ...(isVaried ? { vary: "accept-encoding" } : {}),
    ...SECURITY_HEADERS,
  };
}
