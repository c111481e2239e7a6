import { handleEarlySignals } from "./start/early-signals.ts";

handleEarlySignals();
await import("./service.ts");
