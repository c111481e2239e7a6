import { executionAsyncResource } from "node:async_hooks";
import process from "node:process";

/** The object that is kept. Nothing reads it. */
const kept: object[] = [];

/**
 * Keeps alive one of the objects in which Node notes what `process.nextTick` is to call. If a major garbage collection finds none of them, V8 drops
 * their shape (hidden class), and from then on the code that makes them has to look up each property every time: a call took 400 ns instead of 60,
 * and a request makes about ten. Call it before the first major collection.
 */
export function keepTickShape(): void {
  process.nextTick(() => {
    kept.push(executionAsyncResource());
  });
}
