/** How many steps a scale of values should have at most. */
const MOST_STEPS = 4;
const ROUND = [1, 2, 2.5, 5, 10];

/** Round values from 0 to the first that none of the values exceeds, which is where the scale ends. */
export function valueTicks(values: readonly number[]): readonly number[] {
  const most = Math.max(0, ...values);
  if (most === 0) return [0, 1];
  const areWhole = values.every(Number.isInteger);
  const least = most / MOST_STEPS;
  const magnitude = 10 ** Math.floor(Math.log10(least));
  const round = ROUND.map((factor) => factor * magnitude);
  const step = round.find((size) => size >= least && (!areWhole || Number.isInteger(size))) ?? 1;
  // Multiplied, not added up: a sum of fractions drifts.
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}
