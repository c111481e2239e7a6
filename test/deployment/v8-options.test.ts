import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../fixtures/service.ts";

/** V8's options as they stand behind a command, such as `--max-semi-space-size=32 --heap-growing-percent=400`. */
const OPTION = /--[a-z-]+=\d+/g;

const STARTS = [
  ["package.json", /"start": "exec node (?<options>[^"]*) server/],
  ["package.json", /"start:deno": "exec deno run --v8-flags=(?<options>\S+) /],
  ["server/src/start/workers/spawn-worker.ts", /"--v8-flags=(?<options>[^"]+)"/],
  ["deploy/systemd/ostiary.service", /^ExecStart=\S+ (?<options>.*) \S+ start$/m],
  ["deploy/image/Containerfile", /^ENTRYPOINT \["[^"]+", (?<options>.*), "[^"]+"\]$/m],
  [
    "docs/how-to/install.md",
    /^node (?<options>--.*) node_modules\/ostiary-server\/server\/dist\/ostiary-server.js start$/m,
  ],
  ["docs/how-to/install.md", /^deno run .*--v8-flags=(?<options>\S+) /m],
] as const;

it("every way to start the service in production gives V8 the same options", async () => {
  const found = STARTS.map(async ([file, start]) => {
    const options = start.exec(await readFile(join(ROOT, file), "utf8"))?.groups?.options ?? "";
    return { file, options: options.match(OPTION) };
  });
  const [first, ...others] = await Promise.all(found);
  expect(first?.options).toHaveLength(2);
  for (const { file, options } of others) expect(options, file).toEqual(first?.options);
});
