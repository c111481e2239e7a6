import { describe, expect, it } from "vitest";
import { nanoUsdOf, usdHint } from "../../dashboard-ui/src/pages/operator/account/usd.ts";

describe("an amount of US dollars that cannot be granted", () => {
  it.each([
    ["0", "Enter an amount above 0."],
    ["$0.00", "Enter an amount above 0."],
    ["0.0000000001", "Enter at most 9 decimals."],
    ["10000000000000", "Enter at most 9 million US dollars."],
    ["1,500", "1,500 has two readings. Enter 1500.00 or 1.500."],
    ["1,5", expect.stringMatching(/^Enter an amount in US dollars with a point before decimals/)],
    ["-5", expect.stringMatching(/^Enter an amount in US dollars/)],
    ["", expect.stringMatching(/^Enter an amount in US dollars/)],
  ])("%j is explained", (typed, hint) => {
    expect(nanoUsdOf(typed) ?? 0n).toBe(0n);
    expect(usdHint(typed)).toEqual(hint);
  });
});
