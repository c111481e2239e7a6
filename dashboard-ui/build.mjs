// Builds dashboard-ui/dist, which the server serves at `/`.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { compressFolder } from "../scripts/compress.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

await build({ root: here, logLevel: "warn" });
await compressFolder(join(here, "dist"));
