// `npm run dev`: the server from its sources, restarted on change, and the dashboard by Vite with hot reload.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const children = [
  spawn("npx", ["--no-install", "tsx", "watch", "--clear-screen=false", "server/src/main.ts"], {
    cwd: root,
    stdio: "inherit",
  }),
  spawn("npx", ["--no-install", "vite", "dashboard-ui"], { cwd: root, stdio: "inherit" }),
];

function stop() {
  for (const child of children) child.kill("SIGTERM");
}

process.on("SIGINT", stop);
process.on("SIGTERM", stop);
for (const child of children) {
  child.on("exit", (code) => {
    process.exitCode ||= code ?? 0;
    stop();
  });
}
