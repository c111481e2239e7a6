// Writes docs/reference/catalog.schema.json from the definition that checks catalog files.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { register } from "tsx/esm/api";

register();
const { catalogJsonSchema } = await import("../server/src/catalog/catalog-file.ts");
const { DIALECTS } = await import("../server/src/upstream/dialects.ts");
const root = fileURLToPath(new URL("..", import.meta.url));
const file = `${root}docs/reference/catalog.schema.json`;
writeFileSync(file, `${JSON.stringify(catalogJsonSchema(DIALECTS), null, 2)}\n`);
spawnSync(`${root}test/node_modules/.bin/biome`, ["format", "--write", file], {
  cwd: root,
  stdio: "inherit",
});
