import type { KeyboardEvent } from "react";

/** The code of keys that an input method takes. */
const TAKEN = 229;

/**
 * Whether an input method of Japanese or Chinese, for example, takes the key: Enter completes a word then, and Escape drops it. Safari
 * ends the composition before it reports the key, so that only the code of the key tells.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === TAKEN;
}
