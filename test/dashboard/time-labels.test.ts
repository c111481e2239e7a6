import { describe, expect, it } from "vitest";
import { timeTicks } from "../../dashboard-ui/src/components/chart/time-labels.ts";

const HOUR_MS = 3_600_000;
/** About the width of a digit of the labels. */
const LETTER_PX = 7;
const widthOf = (text: string) => text.length * LETTER_PX;

function ticksOf(timeZone: string, from: string, hours: number, columnPx: number) {
  const times = Array.from({ length: hours }, (_, hour) => new Date(Date.parse(from) + hour * HOUR_MS));
  return timeTicks(times, { interval: "hour", timeZone }, { columnPx, widthOf });
}

describe("the labels of hours", () => {
  it.each([
    { zone: "Europe/Berlin", from: "2026-10-24T12:00Z", change: "shows an hour twice" },
    { zone: "Europe/Berlin", from: "2026-03-28T12:00Z", change: "leaves an hour out" },
    { zone: "America/Havana", from: "2026-10-31T12:00Z", change: "shows midnight twice" },
    { zone: "Australia/Lord_Howe", from: "2026-04-04T06:00Z", change: "is of half an hour" },
    { zone: "Asia/Kolkata", from: "2026-03-03T00:30Z", change: "is none" },
  ])("stand apart where a change of the clock $change, in $zone", ({ zone, from }) => {
    for (let widthPx = 240; widthPx <= 1_400; widthPx += 20) {
      const columnPx = widthPx / 48;
      const ticks = ticksOf(zone, from, 48, columnPx);
      expect(ticks.length, `${widthPx}`).toBeGreaterThan(1);
      const gaps = ticks
        .slice(1)
        .map(({ index }, place) => (index - (ticks[place]?.index ?? 0)) * columnPx - widthOf("00:00"));
      expect(Math.min(...gaps), `${widthPx}`).toBeGreaterThan(0);
    }
  });

  it("are natural hours of the zone", () => {
    expect(ticksOf("Europe/Berlin", "2026-06-01T22:00Z", 24, 20).map(({ text }) => text)).toEqual([
      "03:00",
      "06:00",
      "09:00",
      "12:00",
      "15:00",
      "18:00",
      "21:00",
    ]);
  });
});

describe("the labels of days", () => {
  const daysOf = (days: number, columnPx: number, sharedColumnPx = columnPx) => {
    const times = Array.from({ length: days }, (_, day) => new Date(Date.UTC(2026, 10, 1 + day)));
    return timeTicks(times, { interval: "day", timeZone: undefined }, { columnPx, sharedColumnPx, widthOf });
  };

  it.each([7, 30, 90])(
    "include the first and the last of %i days, apart and near the plot, at every width",
    (days) => {
      for (let widthPx = 200; widthPx <= 1_400; widthPx += 10) {
        const ticks = daysOf(days, widthPx / days);
        expect([ticks[0]?.index, ticks.at(-1)?.index], `${widthPx}`).toEqual([0, days - 1]);
        const sides = ticks.map(({ text, leftPx }) => [
          leftPx - widthOf(text) / 2,
          leftPx + widthOf(text) / 2,
        ]);
        const gaps = sides.slice(1).map(([left = 0], place) => left - (sides[place]?.[1] ?? 0));
        expect(Math.min(...gaps), `${widthPx}`).toBeGreaterThan(0);
        expect(Math.min(...sides.flat()), `${widthPx}`).toBeGreaterThan(-13);
        expect(Math.max(...sides.flat()), `${widthPx}`).toBeLessThan(widthPx + 13);
      }
    },
  );

  it("are the same in charts side by side, whose plots differ in width", () => {
    for (let widthPx = 240; widthPx <= 1_400; widthPx += 10) {
      const textsOf = (plotPx: number) =>
        daysOf(30, plotPx / 30, (widthPx - 60) / 30).map(({ text }) => text);
      expect(textsOf(widthPx - 60), `${widthPx}`).toEqual(textsOf(widthPx - 20));
    }
  });
});
