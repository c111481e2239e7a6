// Builds dashboard-ui/dist, which the server serves at `/`: each text file also compressed, so that nothing is while it
// is served.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const TEXT = new Set([".html", ".js", ".css", ".svg", ".json", ".webmanifest", ".txt"]);
const here = fileURLToPath(new URL(".", import.meta.url));

await build({ root: here, logLevel: "warn" });

const compressed = {
  ".br": (bytes) =>
    brotliCompressSync(bytes, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  ".gz": (bytes) => gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }),
};

for (const name of readdirSync(join(here, "dist"), { recursive: true })) {
  if (!TEXT.has(extname(name))) continue;
  const file = join(here, "dist", name);
  const bytes = readFileSync(file);
  for (const [suffix, compress] of Object.entries(compressed)) {
    const smaller = compress(bytes);
    if (smaller.length < bytes.length) writeFileSync(file + suffix, smaller);
  }
}
