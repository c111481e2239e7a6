import { handleEarlySignals } from "./start/early-signals.ts";
import { requireNode } from "./start/node-release.ts";

requireNode();
handleEarlySignals();
await import("./service.ts");
