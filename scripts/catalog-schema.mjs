// Writes docs/reference/catalog.schema.json anew, from the definition that checks catalog files.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { register } from "tsx/esm/api";

register();
const { catalogJsonSchema } = await import("../server/src/catalog/catalog-schema.ts");
const file = fileURLToPath(new URL("../docs/reference/catalog.schema.json", import.meta.url));
writeFileSync(file, `${JSON.stringify(catalogJsonSchema(), null, 2)}\n`);
spawnSync("npx", ["--no-install", "biome", "format", "--write", file], { stdio: "inherit" });
