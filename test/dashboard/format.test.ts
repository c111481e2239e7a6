import { describe, expect, it } from "vitest";
import {
  formatBalance,
  formatBytes,
  formatCounted,
  formatDuration,
  formatShare,
  formatUsdBriefly,
  formatUsdRoughly,
  initialOf,
} from "../../dashboard-ui/src/components/format.ts";
import { NEW_CHAT, titleOf } from "../../dashboard-ui/src/pages/playground/chat-state.ts";

describe("a share", () => {
  it("has one decimal in every place, and is none or all only where it is exactly that", () => {
    expect([0, 0.00001, 0.005, 0.01, 0.25, 0.1666, 0.9996, 1].map(formatShare)).toEqual([
      "0%",
      "<0.1%",
      "0.5%",
      "1.0%",
      "25.0%",
      "16.7%",
      ">99.9%",
      "100%",
    ]);
  });
});

describe("the first letter of a name", () => {
  it("is whole", () => {
    const names = ["acme", "🚀 Rocket", "🇪🇺 Union", "👩‍💻 Ada", "e\u0301tude", ""];
    expect(names.map(initialOf)).toEqual(["A", "🚀", "🇪🇺", "👩‍💻", "E\u0301", ""]);
  });
});

describe("the title of a chat", () => {
  const titled = (text: string) =>
    titleOf({
      ...NEW_CHAT,
      lanes: NEW_CHAT.lanes.map((lane) => ({
        ...lane,
        messages: [{ id: 1, role: "user", text, attachments: [], calls: [], generated: null }],
      })),
    });

  it("ends with a whole letter", () => {
    expect(titled("Hello,\n  world")).toBe("Hello, world");
    expect(titled(`${"a".repeat(59)}🚀🚀`)).toBe(`${"a".repeat(59)}🚀…`);
  });
});

describe("the amounts of an axis", () => {
  const written = (...dollars: number[]) => {
    const all = dollars.map((each) => BigInt(each * 1_000_000_000));
    return all.map((each) => formatUsdBriefly(each, all));
  };

  it("are brief where all are whole dollars", () => {
    expect(written(0, 20, 40)).toEqual(["$0", "$20", "$40"]);
    expect(written(0, 500_000, 1_000_000, 1_500_000)).toEqual(["$0", "$500K", "$1M", "$1.5M"]);
  });

  it("have the same form where one has cents", () => {
    expect(written(0, 2.5, 5)).toEqual(["$0.00", "$2.50", "$5.00"]);
  });
});

describe("an amount at a glance", () => {
  const amounts = [0n, 1n, 99_999_999n, 4_998_888_750n, 5_000_000_000n, 1_234_567_899_999_999n];

  it("is rounded", () => {
    expect(amounts.map(formatUsdRoughly)).toEqual([
      "$0.00",
      "$0.000000001",
      "$0.10",
      "$5.00",
      "$5.00",
      "$1,234,567.90",
    ]);
  });

  it("is never more than a balance has", () => {
    expect(amounts.map(formatBalance)).toEqual([
      "$0.00",
      "$0.000000001",
      "$0.099",
      "$4.99",
      "$5.00",
      "$1,234,567.89",
    ]);
  });
});

describe("a duration", () => {
  it("is in a unit that needs few digits", () => {
    const minutes = 60_000;
    const durations = [0, 999, 1_000, 99_960, 150_000, 25 * minutes, 5 * 60 * minutes, 9 * 24 * 60 * minutes];
    expect(durations.map(formatDuration)).toEqual([
      "0 ms",
      "999 ms",
      "1.0 s",
      "100 s",
      "150 s",
      "25 min",
      "5 h",
      "9 d",
    ]);
  });
});

describe("a number of bytes", () => {
  it("has at most three digits", () => {
    const sizes = [0, 999, 1_000, 12_345, 99_950, 999_499, 999_999, 45_000_000_000];
    expect(sizes.map(formatBytes)).toEqual([
      "0 bytes",
      "999 bytes",
      "1.0 kB",
      "12.3 kB",
      "100 kB",
      "999 kB",
      "1.0 MB",
      "45.0 GB",
    ]);
  });
});

describe("a count with its noun", () => {
  it("is one thing or several", () => {
    expect(formatCounted(1, "request")).toBe("1 request");
    expect(formatCounted(1_234, "entry", "entries")).toBe("1,234 entries");
    expect(formatCounted(0, "key")).toBe("0 keys");
  });
});
