import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 15;

/** Polls a condition. Resolves to `true` once it holds, and to `false` after the timeout. */
export async function pollUntil(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(STEP_MS);
  }
  return true;
}
