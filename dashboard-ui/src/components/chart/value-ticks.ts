/** How many steps a scale of values should have at most. */
const MAX_STEPS = 4;
const ROUND = [1, 2, 2.5, 5, 10];

/** Where a scale of these steps ends. Of nothing but zeros there is no unit that a scale would be one of. */
export function topOf(ticks: readonly number[]): number {
  return Math.max(0, ...ticks) || 1;
}

/** Round values from 0 to the first that none of the values exceeds. */
export function valueTicks(values: readonly number[]): readonly number[] {
  const max = Math.max(0, ...values);
  if (max === 0) return [0];
  const areWhole = values.every(Number.isInteger);
  const minStep = max / MAX_STEPS;
  const magnitude = 10 ** Math.floor(Math.log10(minStep));
  const round = ROUND.map((factor) => factor * magnitude);
  const step = round.find((size) => size >= minStep && (!areWhole || Number.isInteger(size))) ?? 1;
  // Multiplied, not added up: a sum of fractions drifts.
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step);
}
