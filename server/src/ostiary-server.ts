#!/usr/bin/env node
import process from "node:process";
import { handleEarlySignals } from "./start/early-signals.ts";
import { requireNode } from "./start/node-release.ts";

requireNode();
const isStart = process.argv[2] === "start";
if (isStart) handleEarlySignals();
const { endWithOutput } = await import("./cli/output.ts");
// A service keeps running when nothing reads its output any more.
if (isStart) process.stdout.on("error", () => {});
else endWithOutput();
const { runServerCommand } = await import("./commands/run.ts");
await runServerCommand({
  arguments: process.argv.slice(2),
  environment: process.env,
  migrations: new URL("./database/migrations/", import.meta.url),
  manifest: new URL("../package.json", import.meta.url),
  start: async () => void (await import("./service.ts")),
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
