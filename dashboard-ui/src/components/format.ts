/** The language of all numbers and times. They are part of English pages, whatever the browser's language. */
export const LOCALE = "en-GB";

const time = { hour: "2-digit", minute: "2-digit" } as const;
const day = { year: "numeric", month: "short", day: "numeric" } as const;
const dateTime = new Intl.DateTimeFormat(LOCALE, { ...day, ...time, timeZoneName: "short" });
const exactTime = new Intl.DateTimeFormat(LOCALE, {
  ...day,
  ...time,
  second: "2-digit",
  timeZoneName: "short",
});
const zonedTime = new Intl.DateTimeFormat(LOCALE, { ...time, timeZoneName: "short" });
const timeOfDay = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium" });
const date = new Intl.DateTimeFormat(LOCALE, day);
const utcDate = new Intl.DateTimeFormat(LOCALE, { ...day, timeZone: "UTC" });
const utcDateTime = new Intl.DateTimeFormat(LOCALE, { ...day, ...time, timeZone: "UTC" });
const count = new Intl.NumberFormat(LOCALE);
// British English abbreviates a million as "m", which is the symbol of a thousandth.
const briefCount = new Intl.NumberFormat("en-US", { notation: "compact" });
const wholeShare = new Intl.NumberFormat(LOCALE, { style: "percent", maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(LOCALE, {
  style: "percent",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const MIN_SHARE = 0.001;
const MAX_SHARE = 0.999;
/** The start of the last minute of an hour, from the hour's start. */
const LAST_MINUTE_MS = 59 * 60_000;

const SPANS = [
  { unit: "day", seconds: 24 * 60 * 60 },
  { unit: "hour", seconds: 60 * 60 },
  { unit: "minute", seconds: 60 },
  { unit: "second", seconds: 1 },
] as const;

/** Durations from here on are in minutes or a longer unit. */
const MIN_LONG_S = 600;
const LONG_UNITS = [
  { name: "min", seconds: 60 },
  { name: "h", seconds: 60 * 60 },
  { name: "d", seconds: 24 * 60 * 60 },
] as const;

const BYTE_UNITS = ["bytes", "kB", "MB", "GB"] as const;

/** A date in the reader's time zone: "3 Mar 2026". */
export const formatDate = (value: Date): string => date.format(value);
/** A time in the reader's time zone, which it names: "3 Mar 2026, 16:05 CET". */
export const formatDateTime = (value: Date): string => dateTime.format(value);
/** As {@link formatDateTime}, with seconds. */
export const formatExactTime = (value: Date): string => exactTime.format(value);
/** The name of the reader's time zone at a time: "CET", or "CEST" in summer. */
export const formatZone = (at: Date): string =>
  zonedTime.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
/** The hour that begins at a time, in the reader's time zone, which it names: "16:00–16:59 CET". */
export const formatHour = (start: Date): string =>
  zonedTime.formatRange(start, new Date(start.getTime() + LAST_MINUTE_MS));
/** The time of a day in the reader's time zone: "16:05:06". */
export const formatTimeOfDay = (value: Date): string => timeOfDay.format(value);
/** A date in UTC, which the text around it names: "3 Mar 2026". */
export const formatUtcDate = (value: Date): string => utcDate.format(value);
/** A time in UTC, which the text around it names: "3 Mar 2026, 15:05". */
export const formatUtcDateTime = (value: Date): string => utcDateTime.format(value);
export const formatCount = (value: number): string => count.format(value);
/** A count in few characters: "1.2K", "3.4M". */
export const formatCountBriefly = (value: number): string => briefCount.format(value);

/** A name's first letter, which may be a sign of several characters, such as a flag. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter(LOCALE).segment(name);
  return first === undefined ? "" : first.segment.toUpperCase();
}

/** A count with its noun: "1 request", "1,234 requests". */
export const formatCounted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(value)} ${value === 1 ? noun : plural}`;

/** A fraction of 1 as a percentage: "12.0%". Only none and all are "0%" and "100%"; what is near them is "<0.1%" and ">99.9%". */
export function formatShare(value: number): string {
  if (value === 0 || value === 1) return wholeShare.format(value);
  if (value < MIN_SHARE) return `<${share.format(MIN_SHARE)}`;
  return value > MAX_SHARE && value < 1 ? `>${share.format(MAX_SHARE)}` : share.format(value);
}
/** A percentage on the axis of a chart, without the digits that it does not need: "5%". */
export const formatShareBriefly = (value: number): string => wholeShare.format(value);

/** Nano-USD as dollars, with as many digits as a small sum needs. */
export function formatUsd(nanoUsd: bigint): string {
  const absolute = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const fraction = (absolute % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "").padEnd(2, "0");
  return `${nanoUsd < 0n ? "−" : ""}$${count.format(absolute / 1_000_000_000n)}.${fraction}`;
}

/** One of some round amounts, such as those of an axis: in few characters if all are whole dollars ("$40", "$1.5M"), or else in cents or less. */
export function formatUsdBriefly(nanoUsd: bigint, all: readonly bigint[]): string {
  const dollar = 1_000_000_000n;
  if (all.some((each) => each % dollar !== 0n)) return formatUsd(nanoUsd);
  return `$${formatCountBriefly(Number(nanoUsd / dollar))}`;
}

/** The number of fraction digits of an amount as {@link formatUsd} writes it. */
export const fractionDigits = (amount: string): number => (/\.\d+$/.exec(amount)?.[0].length ?? 1) - 1;

/** The maximum number of characters before the decimal point of some amounts: 2 of "$0.0164". */
export const longestWhole = (amounts: readonly bigint[]): number =>
  amounts.reduce((longest, nanoUsd) => Math.max(longest, formatUsd(nanoUsd).indexOf(".")), 0);

/** The maximum number of fraction digits of some amounts. */
export const longestFraction = (amounts: readonly bigint[]): number =>
  amounts.reduce((longest, nanoUsd) => Math.max(longest, fractionDigits(formatUsd(nanoUsd))), 0);

/** An amount at a glance: in cents, and below a dollar with its first two digits. */
export function formatUsdRoughly(nanoUsd: bigint): string {
  const absolute = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const unit = roughUnit(absolute);
  const rounded = ((absolute + unit / 2n) / unit) * unit;
  return formatUsd(nanoUsd < 0n ? -rounded : rounded);
}

/** A balance at a glance, as {@link formatUsdRoughly}, but rounded down: credit that is spent must not be shown. */
export const formatBalance = (nanoUsd: bigint): string => formatUsd(nanoUsd - (nanoUsd % roughUnit(nanoUsd)));

/** The unit of the last digit of an amount at a glance. */
function roughUnit(nanoUsd: bigint): bigint {
  const cent = 10_000_000n;
  const secondDigit = 10n ** BigInt(Math.max(0, nanoUsd.toString().length - 2));
  return secondDigit < cent ? secondDigit : cent;
}

/** Bytes in a unit that needs few digits: "12.3 MB". */
export function formatBytes(bytes: number): string {
  // The three digits that are shown: a thousand of a unit is one of the next.
  const rounded = bytes < 1_000 ? bytes : Number(bytes.toPrecision(3));
  const step = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(Math.max(1, rounded)) / 3));
  const value = rounded / 1_000 ** step;
  return `${step === 0 ? value : value.toFixed(value < 100 ? 1 : 0)} ${BYTE_UNITS[step]}`;
}

/** A duration in a unit that needs few digits: "12 ms", "3.1 s", "150 s", "25 min", "3 d". */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${milliseconds} ms`;
  const seconds = milliseconds / 1_000;
  if (seconds < MIN_LONG_S) return `${seconds.toFixed(seconds < 99.95 ? 1 : 0)} s`;
  const unit = LONG_UNITS.find(({ seconds: size }) => seconds < size * 100) ?? LONG_UNITS[2];
  return `${formatCount(Math.round(seconds / unit.seconds))} ${unit.name}`;
}

/** Seconds in the largest unit that divides them: "1 day", "90 minutes". */
export function formatSpan(seconds: number): string {
  const { unit, seconds: size } = SPANS.find(({ seconds: each }) => seconds % each === 0) ?? SPANS[3];
  return new Intl.NumberFormat(LOCALE, { style: "unit", unit, unitDisplay: "long" }).format(seconds / size);
}
