import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";

interface File {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
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
};

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "object-src 'none'",
].join("; ");

/** The built dashboard, held in memory: it is small, and a file that is missing shows at start. */
export class Dashboard {
  readonly #files: ReadonlyMap<string, File>;

  private constructor(files: ReadonlyMap<string, File>) {
    this.#files = files;
  }

  /** @throws {Error} when the folder holds no built dashboard. */
  static async load(folder: URL): Promise<Dashboard> {
    const files = new Map<string, File>();
    for (const name of await filesBelow(folder)) {
      const bytes = new Uint8Array(await readFile(new URL(name, folder)));
      files.set(`/${name}`, { bytes, headers: headersFor(name) });
    }
    return new Dashboard(files);
  }

  /** A file; for every other path the page itself, whose router knows the path or says that there is none. */
  answer(request: Request): Response {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response("Method not allowed\n", { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const { pathname } = new URL(request.url);
    const file = this.#files.get(pathname);
    if (file !== undefined && pathname !== "/index.html") return respond(request, file);
    const page = this.#files.get("/index.html");
    const isPagePath = extname(pathname) === "" || pathname === "/index.html";
    if (page === undefined || !isPagePath) return new Response("Not found\n", { status: 404 });
    return respond(request, page);
  }
}

function respond(request: Request, file: File): Response {
  return new Response(request.method === "HEAD" ? null : file.bytes, { headers: file.headers });
}

async function filesBelow(folder: URL): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const root = new URL(folder).pathname.replace(/\/$/, "");
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      `${entry.parentPath.replace(/\/$/, "")}/${entry.name}`.slice(decodeURIComponent(root).length + 1),
    );
}

function headersFor(name: string): Record<string, string> {
  const hashed = name.startsWith("assets/");
  return {
    "content-type": CONTENT_TYPES[extname(name)] ?? "application/octet-stream",
    // The build puts a digest of the content into the names of assets; the page itself names the newest of them.
    "cache-control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
  };
}
