import { realSetImmediate } from "./globals.ts";

/**
 * A turn of the event loop asks the system what has arrived. With one turn for each step that took a third of the time of
 * `simulation.test.ts`, with one for so many it takes next to none.
 */
const STEPS_A_TURN = 256;

/**
 * Calls `step` until it returns `false`. All promises settle after each call, as Node runs what they wait for after each
 * immediate.
 *
 * @throws what `step` throws.
 */
export function takeSteps(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const takeOne = () => {
      if (isOver) return;
      try {
        isOver = !step();
        if (isOver) resolve();
      } catch (error) {
        isOver = true;
        reject(error);
      }
    };
    const takeTurn = () => {
      if (isOver) return;
      for (let taken = 0; taken < STEPS_A_TURN; taken++) realSetImmediate(takeOne);
      realSetImmediate(takeTurn);
    };
    takeTurn();
  });
}
