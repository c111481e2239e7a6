import { describe, expect, it } from "vitest";
import { dayStart, intervalStart, isTimeZone } from "../../sdk/src/contract/time-intervals.ts";

const at = (time: string) => new Date(`${time}Z`);
const dayOf = (time: string, zone: string, later = 0) =>
  intervalStart(at(time), "day", zone, later).toISOString().slice(0, 16);

describe("the start of an interval", () => {
  it("is that of UTC", () => {
    expect(dayOf("2026-03-03T17:45", "UTC")).toBe("2026-03-03T00:00");
    expect(intervalStart(at("2026-03-03T17:45"), "hour", "UTC", -1)).toEqual(at("2026-03-03T16:00"));
    expect(intervalStart(at("2026-01-31T17:45"), "month", "UTC", 1)).toEqual(at("2026-02-01T00:00"));
  });

  it("follows the zone and its clock changes", () => {
    expect(dayOf("2026-03-03T23:30", "Europe/Berlin")).toBe("2026-03-03T23:00");
    expect(dayOf("2026-03-29T12:00", "Europe/Berlin")).toBe("2026-03-28T23:00");
    expect(dayOf("2026-03-29T12:00", "Europe/Berlin", 1)).toBe("2026-03-29T22:00");
    expect(dayOf("2026-10-25T12:00", "Europe/Berlin", 1)).toBe("2026-10-25T23:00");
    expect(intervalStart(at("2026-03-31T22:30"), "month", "Europe/Berlin")).toEqual(at("2026-03-31T22:00"));
    // Clocks skip midnight in Santiago and Cairo, and show it twice in Havana.
    expect(dayOf("2026-09-06T12:00", "America/Santiago")).toBe("2026-09-06T04:00");
    expect(dayOf("2026-11-01T12:00", "America/Havana")).toBe("2026-11-01T04:00");
  });

  it("is the first whole hour of UTC where midnight is within one", () => {
    expect(dayOf("2026-03-03T18:45", "Asia/Kolkata")).toBe("2026-03-02T19:00");
    expect(dayOf("2026-03-03T19:00", "Asia/Kolkata")).toBe("2026-03-03T19:00");
    expect(dayOf("2026-03-03T18:20", "Asia/Kathmandu")).toBe("2026-03-02T19:00");
    expect(dayStart("2026-03-04", "Asia/Kolkata")).toEqual(at("2026-03-03T19:00"));
  });

  it.each([
    "UTC",
    "Europe/Berlin",
    "Asia/Kolkata",
    "America/Santiago",
    "Pacific/Apia",
    "Australia/Lord_Howe",
  ])("belongs to its own interval, and the days of a year follow each other, in %s", (zone) => {
    let start = dayStart("2026-01-01", zone);
    for (let day = 0; day < 366; day++) {
      expect(intervalStart(start, "day", zone)).toEqual(start);
      const next = intervalStart(start, "day", zone, 1);
      const hours = (next.getTime() - start.getTime()) / 3_600_000;
      expect([23, 24, 25]).toContain(hours);
      expect(intervalStart(new Date(next.getTime() - 1), "day", zone)).toEqual(start);
      start = next;
    }
    expect(start).toEqual(dayStart("2026-01-01", zone, 366));
  });

  it("is the second midnight where clocks are put back past the first", () => {
    // At 00:01 of 29 October, to 23:01 of the day before.
    expect(dayStart("2006-10-29", "America/St_Johns")).toEqual(at("2006-10-29T04:00"));
    expect(dayOf("2006-10-29T02:45", "America/St_Johns")).toBe("2006-10-28T03:00");
    expect(dayOf("2006-10-29T03:00", "America/St_Johns", 1)).toBe("2006-10-29T04:00");
    expect(intervalStart(at("2006-10-29T04:00"), "day", "America/St_Johns", -1)).toEqual(
      at("2006-10-28T03:00"),
    );
  });

  it.each(["America/St_Johns", "America/Moncton", "America/Asuncion", "Asia/Beirut", "Antarctica/Vostok"])(
    "is followed by a later one in every year and at every change of clocks: %s",
    (zone) => {
      for (let year = 1970; year < 2040; year++) {
        for (const month of ["01-25", "03-20", "04-20", "10-20"]) {
          let start = dayStart(`${year}-${month}`, zone);
          for (let day = 0; day < 15; day++) {
            const next = intervalStart(start, "day", zone, 1);
            expect(next.getTime()).toBeGreaterThan(start.getTime());
            expect(intervalStart(new Date(next.getTime() - 1), "day", zone)).toEqual(start);
            start = next;
          }
        }
      }
    },
  );
});

describe("the name of a time zone", () => {
  it("is one that the runtime knows", () => {
    for (const zone of ["UTC", "Europe/Berlin", "Etc/GMT+5", "America/Argentina/Buenos_Aires"]) {
      expect(isTimeZone(zone), zone).toBe(true);
    }
    for (const text of ["", "+02:00", "Mars/Olympus", "Europe/Berlin'", "a".repeat(200), "../etc"]) {
      expect(isTimeZone(text), text).toBe(false);
    }
  });
});
