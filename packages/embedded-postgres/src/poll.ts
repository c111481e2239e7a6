import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 15;

/** Waits for what has no event: resolves with `true` once the condition holds, with `false` after the timeout. */
export async function pollUntil(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(STEP_MS);
  }
  return true;
}
