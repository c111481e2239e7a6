#!/usr/bin/env node
import process from "node:process";
import { runServerCommand } from "./commands/run.ts";

// A reader of a pipe has seen enough, such as `head`. A service goes on without it.
process.stdout.on("error", () => {
  if (process.argv[2] !== "start") process.exit();
});
await runServerCommand({
  arguments: process.argv.slice(2),
  environment: process.env,
  migrations: new URL("./database/migrations/", import.meta.url),
  manifest: new URL("../package.json", import.meta.url),
  start: async () => void (await import("./main.ts")),
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
