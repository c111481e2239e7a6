/** The maximum number of steps of a scale. */
const MAX_STEPS = 4;
const ROUND = [1, 2, 2.5, 5, 10];

/** The end of a scale with these ticks. A scale of only zeros ends at 1. */
export function topOf(ticks: readonly number[]): number {
  return Math.max(0, ...ticks) || 1;
}

/** Round values from 0 to the first that no value exceeds. */
export function valueTicks(values: readonly number[]): readonly number[] {
  const max = Math.max(0, ...values);
  if (max === 0) return [0];
  const areWhole = values.every(Number.isInteger);
  const minStep = max / MAX_STEPS;
  const magnitude = 10 ** Math.floor(Math.log10(minStep));
  const round = ROUND.map((factor) => factor * magnitude);
  const step = round.find((size) => size >= minStep && (!areWhole || Number.isInteger(size))) ?? 1;
  // Multiplication avoids the rounding errors of a running sum.
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step);
}
