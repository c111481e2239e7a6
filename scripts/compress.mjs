// Writes the compressed forms of built text files beside them, so that nothing is compressed while it is served.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const TEXT = new Set([".html", ".js", ".css", ".svg", ".json", ".webmanifest", ".txt"]);

const COMPRESSED = {
  ".br": (bytes, quality) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  ".gz": (bytes) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
};

/**
 * Writes each text file of a folder as `.br` and `.gz`, where that is smaller.
 *
 * @param quality Brotli's: the best is 11, which takes five times as long as 9 and saves a twentieth.
 */
export async function compressFolder(folder, quality = constants.BROTLI_MAX_QUALITY) {
  const names = await readdir(folder, { recursive: true });
  const compressFile = async (name) => {
    const file = join(folder, name);
    const bytes = await readFile(file);
    for (const [suffix, compress] of Object.entries(COMPRESSED)) {
      const smaller = await compress(bytes, quality);
      if (smaller.length < bytes.length) await writeFile(file + suffix, smaller);
    }
  };
  await Promise.all(names.filter((name) => TEXT.has(extname(name))).map(compressFile));
}
