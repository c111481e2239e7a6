import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { openSite } from "../fixtures/site.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";
import { rowsOf } from "./audit-page.ts";

const site = openSite();

const COSTS = [
  ["$0.00", 0n],
  ["$12.50", 12_500_000_000n],
  ["$0.125", 125_000_000n],
  ["$0.0164", 16_400_000n],
  ["$1.01234", 1_012_340_000n],
  ["$0.000007", 7_000n],
  ["$0.1234567", 123_456_700n],
  ["$0.0000164", 16_400n],
  ["$0.123456789", 123_456_789n],
  ["$123.000000001", 123_000_000_001n],
] as const;

describe.skipIf(!hasBrowser)("costs in the audit log", () => {
  it.each([1_440, 1_000, 375, 320])(
    "are aligned at the decimal point with all their digits, %i pixels wide",
    async (width) => {
      const owner = await signUpWithKey(site.service.baseUrl);
      await insertEntries(site.service, owner, COSTS.length);
      await setCosts(
        owner,
        COSTS.map(([, cost]) => cost),
      );
      const { page, complaints } = await site.open(owner, "/audit");
      await page.setViewportSize({ width, height: 900 });
      await expect.poll(() => rowsOf(page).count()).toBe(COSTS.length);
      const shown = await rowsOf(page).evaluateAll((rows) =>
        rows.map((row) => {
          const [cost] = (row.querySelector(".EntryTable_entryCost .AlignedUsd_usd") as HTMLElement)
            .childNodes;
          const text = cost?.textContent ?? "";
          const range = document.createRange();
          range.setStart(cost as Node, 0);
          range.setEnd(cost as Node, text.indexOf("."));
          const whole = range.getBoundingClientRect();
          range.setEnd(cost as Node, text.length);
          const all = range.getBoundingClientRect();
          const frame = row.getBoundingClientRect();
          const model = row.querySelector(".EntryTable_entryModel")?.getBoundingClientRect();
          return {
            text,
            point: Math.round(whole.right),
            isWithin: all.left >= frame.left && all.right <= Math.min(frame.right, window.innerWidth),
            isApart:
              model !== undefined && model.width > 40 && (model.right <= all.left || model.left >= all.right),
          };
        }),
      );
      expect(shown.map(({ text }) => text)).toEqual(COSTS.map(([text]) => text).reverse());
      expect(shown.map(({ point }) => point)).toEqual(COSTS.map(() => shown[0]?.point));
      expect(shown.filter(({ isWithin, isApart }) => !(isWithin && isApart))).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  it("have a column that is as wide as the largest", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 2);
    await setCosts(owner, [8_123_456_123_456_789n, 0n]);
    const { page } = await site.open(owner, "/audit", { viewport: { width: 1_440, height: 900 } });
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    const within = await rowsOf(page).evaluateAll((rows) =>
      rows.map((row) => {
        const cell = row.querySelector(".EntryTable_entryCost") as HTMLElement;
        const text = cell.firstElementChild as HTMLElement;
        return text.getBoundingClientRect().right <= cell.getBoundingClientRect().right;
      }),
    );
    expect(within).toEqual([true, true]);
  });

  it("leave the other columns readable where all of them do not fit: the table scrolls sideways, and the page does not", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 2);
    await setCosts(owner, [24_691_200_001n, 0n]);
    const { page } = await site.open(owner, "/audit", { viewport: { width: 1_220, height: 900 } });
    await rowsOf(page).first().waitFor();
    const overflow = (selector: string) =>
      page.locator(selector).evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    expect(await overflow(".EntryFrame_frame")).toBe(0);
    await page.getByRole("button", { name: "View", exact: true }).click();
    for (const column of ["Upstream", "First token"])
      await page.getByRole("dialog").getByLabel(column).check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("columnheader", { name: "First token" }).waitFor();
    const widths = await rowsOf(page)
      .first()
      .locator(".EntryTable_entryKey, .EntryTable_entryModel, .EntryTable_entryUpstream")
      .evaluateAll((cells) => cells.map((cell) => cell.clientWidth));
    expect(widths.map((width) => width >= 80)).toEqual([true, true, true]);
    expect(await overflow(".EntryFrame_frame")).toBeGreaterThan(0);
    expect(await overflow("html")).toBe(0);
  });
});

/** Gives the entries of an account their costs, the oldest entry the first. */
async function setCosts(owner: Owner, costs: readonly bigint[]): Promise<void> {
  await using sql = await openDatabaseOf(site.service);
  const { id } = await owner.trpc.account.get.query();
  await sql`
    update audit_entries set cost_nano_usd = costs.cost
    from (
      select id, (${`{${costs.join()}}`}::bigint[])[row_number() over (order by id)] as cost
      from audit_entries where account_id = ${id}
    ) costs
    where audit_entries.id = costs.id`;
}
