/** CPU time that a piece of work takes, in microseconds for each of its repetitions. */
export async function cpuMicroseconds(repetitions: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / repetitions;
}

/** Minimum, median and maximum of some measurements. */
export function summary(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    (sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN).toFixed(digits);
  return `min ${at(0)}  median ${at(0.5)}  max ${at(1)}`;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function report(what: string, unit: string, result: string): void {
  console.log(`${what.padEnd(58)} ${`(${unit})`.padEnd(6)} ${result}`);
}
