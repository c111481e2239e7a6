import { executionAsyncResource } from "node:async_hooks";
import process from "node:process";

/** The object that is kept. Nothing reads it. */
const kept: object[] = [];

/**
 * Keeps one of the objects in which Node notes what `process.nextTick` is to call. A major collection that finds none of them removes their
 * shape (V8's hidden class), and the code that makes them then looks up each of their properties for as long as the process lives: a call took
 * 400 ns instead of 60, and a request makes about ten. Call it before the first major collection.
 */
export function keepTickShape(): void {
  process.nextTick(() => {
    kept.push(executionAsyncResource());
  });
}
