/** A second, in milliseconds. */
export const SECOND_MS: number = 1_000;
/** A minute, in milliseconds. */
export const MINUTE_MS: number = 60 * SECOND_MS;
/** An hour, in milliseconds. */
export const HOUR_MS: number = 60 * MINUTE_MS;
/** A day of UTC, in milliseconds. */
export const DAY_MS: number = 24 * HOUR_MS;
