// `npm run dev`: the server from its sources, restarted on change, and the dashboard by Vite with hot reload.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
// The programs are started without npx, which would not pass signals on to them.
const start = (program, ...args) =>
  spawn(`${root}node_modules/.bin/${program}`, args, { cwd: root, stdio: "inherit" });
const children = [
  start("tsx", "watch", "--clear-screen=false", "server/src/main.ts"),
  start("vite", "dashboard-ui"),
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
