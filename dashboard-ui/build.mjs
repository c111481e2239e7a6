// Builds dashboard-ui/dist, which the server serves at `/`.
import { fileURLToPath } from "node:url";
import { build } from "vite";

await build({ root: fileURLToPath(new URL(".", import.meta.url)), logLevel: "warn" });
