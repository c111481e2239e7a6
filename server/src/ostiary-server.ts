#!/usr/bin/env node
import process from "node:process";
import { endWithOutput } from "./cli/output.ts";
import { runServerCommand } from "./commands/run.ts";

// A service keeps running when nothing reads its output any more.
if (process.argv[2] === "start") process.stdout.on("error", () => {});
else endWithOutput();
await runServerCommand({
  arguments: process.argv.slice(2),
  environment: process.env,
  migrations: new URL("./database/migrations/", import.meta.url),
  manifest: new URL("../package.json", import.meta.url),
  start: async () => void (await import("./main.ts")),
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
