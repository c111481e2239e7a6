const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const count = new Intl.NumberFormat();

const SPANS = [
  { unit: "day", seconds: 24 * 60 * 60 },
  { unit: "hour", seconds: 60 * 60 },
  { unit: "minute", seconds: 60 },
  { unit: "second", seconds: 1 },
] as const;

export const formatDate = (value: Date): string => date.format(value);
export const formatDateTime = (value: Date): string => dateTime.format(value);
export const formatExactTime = (value: Date): string => exactTime.format(value);
export const formatCount = (value: number): string => count.format(value);

/** Nano-USD as dollars, with as many digits as a small sum needs. */
export function formatUsd(nanoUsd: bigint): string {
  const absolute = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const fraction = (absolute % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "").padEnd(2, "0");
  return `${nanoUsd < 0n ? "−" : ""}$${count.format(absolute / 1_000_000_000n)}.${fraction}`;
}

/** Milliseconds, as seconds from one second up. */
export function formatDuration(milliseconds: number): string {
  return milliseconds < 1_000 ? `${milliseconds} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}

/** Seconds in the largest unit that they fill without a rest: "1 day", "90 minutes". */
export function formatSpan(seconds: number): string {
  const { unit, seconds: size } = SPANS.find(({ seconds: each }) => seconds % each === 0) ?? SPANS[3];
  // Stands inside English sentences, whatever the browser's language.
  return new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long" }).format(seconds / size);
}
