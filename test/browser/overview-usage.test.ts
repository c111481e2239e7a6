import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { chooseInAccountMenu } from "../fixtures/menu.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { cellsOf, chartOf, countsOf, openOverviewSite } from "./overview-site.ts";

const DAY_MS = 24 * 60 * 60_000;
const overview = openOverviewSite();

/** The usage that a page downloads: the name of the file, and its lines. */
async function downloadOf(page: Page): Promise<{ readonly name: string; readonly lines: string[] }> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  const file = await download;
  const text = await readFile(await file.path(), "utf8");
  return { name: file.suggestedFilename(), lines: text.trimEnd().split("\r\n") };
}

describe.skipIf(!hasBrowser)("an account's usage", () => {
  it("is told by model, by key and in time, and stands in the address", async () => {
    const { page, complaints } = await overview.pageOf(overview.used);
    await expect
      .poll(() => countsOf(page))
      .toEqual([
        ["sandbox/echo", "3", "0"],
        ["sandbox/lorem", "2", "0"],
        ["unknown model", "1", "1 100%"],
      ]);
    await page.getByRole("definition").getByText("6", { exact: true }).waitFor();
    await page.getByRole("definition").getByText("16.7%").waitFor();

    await page.getByRole("button", { name: "By key" }).click();
    await expect
      .poll(() => countsOf(page))
      .toEqual([
        [expect.stringMatching(/^test …\w{4}$/), "4", "1 25.0%"],
        [expect.stringMatching(/^second …\w{4}$/), "2", "0"],
      ]);
    await page.getByRole("button", { name: "24 hours" }).click();
    await page.getByRole("img", { name: "Requests by key, the last 24 hours" }).waitFor();
    await page.reload();
    await page.getByRole("img", { name: "Requests by key, the last 24 hours" }).waitFor();

    await page.getByRole("button", { name: "Total" }).click();
    await page.getByRole("button", { name: "Show all 24" }).waitFor();
    await expect.poll(() => countsOf(page)).toContainEqual([expect.any(String), "6", "1 16.7%"]);
    expect(new URL(page.url()).search).toBe("?range=24h&by=none");
    expect(complaints).toEqual([]);
  });

  it("shows which time zone its hours are in, and changes them to the one that is chosen", async () => {
    const { page } = await overview.pageOf(overview.used, "/?range=24h&by=none", {
      timezoneId: "Asia/Tokyo",
    });
    const newest = page.getByRole("rowheader").first();
    await expect.poll(() => newest.textContent()).toContain("GMT+9");
    const pressed = page.getByRole("group", { name: "Time zone" }).getByRole("button", { pressed: true });
    expect(await pressed.textContent()).toBe("Tokyo");
    await page.getByText("Times in Asia/Tokyo. The current hour is incomplete.").waitFor();
    await page.getByRole("button", { name: "UTC", exact: true }).click();
    // At once, and not when the usage is refreshed the next time.
    await expect.poll(() => newest.textContent(), { timeout: 10_000 }).toContain("UTC");
    expect(await pressed.textContent()).toBe("UTC");
    await page.getByText("Times in UTC. The current hour is incomplete.").waitFor();
  });

  it("is downloaded as it is shown, with exact figures and without formulas", async () => {
    const owner = await overview.ownerWithUsage();
    const formula = await owner.trpc.keys.create.mutate({ name: '=HYPERLINK("a"),1' });
    await overview.chat(formula.key, "sandbox/lorem");
    const from = new Date(Date.now() - DAY_MS);
    const summary = { from, to: new Date(), interval: "day" } as const;
    const { rows } = await owner.trpc.usage.summary.query({ ...summary, groupBy: "key" });
    const costOf = (id: string) => String(rows.find(({ key }) => key?.id === id)?.costNanoUsd);

    const { page, complaints } = await overview.pageOf(owner, "/?by=key");
    const byKey = await downloadOf(page);
    expect(byKey.name).toMatch(/^usage-by-key-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.csv$/);
    // Excel needs the byte order mark.
    expect(byKey.lines[0]).toBe(
      "\uFEFFstart,end,time_zone,key,key_name,requests,errors,prompt_tokens,completion_tokens,cached_tokens,cost_nano_usd",
    );
    const line = byKey.lines.find((line) => line.includes(formula.id)) ?? "";
    expect(line).toContain(`,UTC,${formula.id},"'=HYPERLINK(""a""),1 …${formula.key.slice(-4)}",1,0,`);
    expect(line).toMatch(new RegExp(`,${costOf(formula.id)}$`));
    expect(Number(costOf(formula.id))).toBeGreaterThan(0);

    await page.getByRole("button", { name: "Total" }).click();
    await page.getByRole("button", { name: "24 hours" }).click();
    await page.getByRole("button", { name: "Show all 24" }).waitFor();
    const total = await downloadOf(page);
    expect(total.lines[0]).toBe(
      "\uFEFFstart,end,time_zone,requests,errors,prompt_tokens,completion_tokens,cached_tokens,cost_nano_usd",
    );
    // All intervals of the period, in their order, each ending where the next begins.
    expect(total.lines).toHaveLength(25);
    const cells = total.lines.slice(1).map((line) => line.split(","));
    expect(cells.slice(1).map(([start]) => start)).toEqual(cells.slice(0, -1).map(([, end]) => end));
    expect(cells.reduce((sum, [, , , requests]) => sum + Number(requests), 0)).toBe(7);
    const cost = rows.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
    expect(cells.reduce((sum, row) => sum + BigInt(row.at(-1) ?? ""), 0n)).toBe(cost);

    await page.goto(`/models/${encodeURIComponent("sandbox/lorem")}?by=key`);
    const ofModel = await downloadOf(page);
    expect(ofModel.lines[0]).toContain("time_zone,model,key,key_name,requests");
    expect(ofModel.lines).toHaveLength(3);
    for (const row of ofModel.lines.slice(1)) expect(row).toContain(",UTC,sandbox/lorem,");
    expect(complaints).toEqual([]);
  });

  it("of the whole service is downloaded by an operator, also by account", async () => {
    const { page } = await overview.pageOf(overview.operator, "/operator/usage?by=account");
    const { name, lines } = await downloadOf(page);
    expect(name).toMatch(/^usage-by-account-/);
    expect(lines[0]).toContain("start,end,time_zone,account_id,account_name,requests,errors");
    const { id } = await overview.used.trpc.account.get.query();
    expect(lines.filter((line) => line.includes(id))).toHaveLength(1);
  });

  it("costs what the account was charged", async () => {
    const { balanceNanoUsd } = await overview.used.trpc.credits.balance.query();
    const { page } = await overview.pageOf(overview.used, "/?range=30d&by=none");
    await page.getByRole("table", { name: /^Usage/ }).waitFor();
    const [today] = await cellsOf(page);
    const spentUsd = Number(5_000_000_000n - balanceNanoUsd) / 1e9;
    expect(spentUsd).toBeGreaterThan(0);
    expect(Number(today?.at(-1)?.replace("$", ""))).toBeCloseTo(spentUsd, 4);
  });

  it("comes by itself, without a reload", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    await overview.chat(owner.key, "sandbox/echo");
    const { page } = await overview.pageOf(owner, "/", {}, (page) => page.clock.install());
    await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
    await overview.chat(owner.key, "sandbox/echo");
    await page.clock.fastForward(31_000);
    await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "2", "0"]]);
  });

  it("leads to the entries behind it", async () => {
    const { page } = await overview.pageOf(overview.used, "/?by=key");
    await page.getByRole("link", { name: /^second …/ }).click();
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("key")).toMatch(/^[0-9a-f-]{36}$/);
    await page.getByText("sandbox/lorem").first().waitFor();
    expect(await page.getByText("sandbox/echo").count()).toBe(0);
  });

  it("says that there was none where there was none", async () => {
    const owner = await signUpWithKey(overview.site.service.baseUrl);
    await overview.chat(owner.key, "sandbox/echo");
    const { page } = await overview.pageOf(owner, "/?range=24h", {}, (page) =>
      page.clock.setFixedTime(Date.now() + 2 * DAY_MS),
    );
    await page.getByText("No requests in the last 24 hours.").waitFor();
    await page.getByRole("button", { name: "7 days" }).click();
    await expect.poll(() => countsOf(page)).toEqual([["sandbox/echo", "1", "0"]]);
  });
});

describe.skipIf(!hasBrowser)("a chart", () => {
  it("is read by keyboard, interval by interval", async () => {
    const { page } = await overview.pageOf(overview.used);
    const chart = chartOf(page, "Requests");
    const today = new Intl.DateTimeFormat("en-GB", {
      day: "numeric",
      month: "long",
      timeZone: "UTC",
    }).format(new Date());
    await chart.focus();
    const said = () => chart.getAttribute("aria-valuetext");
    await expect
      .poll(said)
      .toMatch(new RegExp(`${today}.*: sandbox/echo 3, sandbox/lorem 2, unknown model 1$`));
    await page.getByText("Total", { exact: true }).last().waitFor();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(said).toMatch(/: none$/);
    await page.keyboard.press("Home");
    await expect.poll(() => chart.getAttribute("aria-valuenow")).toBe("0");
    await page.keyboard.press("End");
    await expect.poll(said).toContain("sandbox/echo 3");
    await page.locator(".ChartTooltip_chartTooltip").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".ChartTooltip_chartTooltip").waitFor({ state: "detached" });
  });

  it("shows the values where the pointer is", async () => {
    const { page } = await overview.pageOf(overview.used);
    const tooltip = page.locator(".ChartTooltip_chartTooltip");
    const chart = chartOf(page, "Errors");
    // Again until the page has stopped moving: the chart may have left the pointer.
    const textAt = async (xOf: (width: number) => number) => {
      const { width } = (await chart.boundingBox()) ?? { width: 0 };
      await page.mouse.move(0, 0);
      await chart.hover({ position: { x: xOf(width), y: 20 } });
      return (await tooltip.allTextContents()).join();
    };
    await expect.poll(() => textAt((width) => width - 4)).toMatch(/unknown model1Total1$/);
    await expect.poll(() => textAt(() => 4)).toMatch(/Total0$/);
    await page.mouse.move(0, 0);
    await tooltip.waitFor({ state: "detached" });
  });

  it("gives long figures space beside each other on a phone", async () => {
    const { page } = await overview.pageOf(overview.used);
    await page.setViewportSize({ width: 375, height: 800 });
    const figures = page.locator(".usage_usageFigures .usage_usageFigure");
    await figures.first().waitFor();
    const beyond = await figures.evaluateAll((all) =>
      all.map((figure) => {
        figure.textContent = "6,666,666,661,365";
        return figure.scrollWidth - figure.clientWidth;
      }),
    );
    expect(beyond).toEqual([0, 0, 0, 0]);
  });

  it("leads from a part of a bar to its requests, and by keyboard to those of the interval", async () => {
    const { page } = await overview.pageOf(overview.used);
    const chart = chartOf(page, "Errors");
    // The foot of the last of seven bars, once the page has stopped moving and shows it.
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    if (box === null) throw new Error("the chart is not there");
    await chart.click({ position: { x: box.width - box.width / 14, y: box.height - 4 } });
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    const errors = new URL(page.url()).searchParams;
    expect(errors.get("error_code")).toBe("model_not_found");
    expect(errors.get("status")).toBe("error");
    const lengthMs = Date.parse(errors.get("to") ?? "") - Date.parse(errors.get("from") ?? "");
    expect(lengthMs).toBe(DAY_MS);
    await page.goBack();
    await chartOf(page, "Requests").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toBe(errors.get("from"));
    expect(new URL(page.url()).searchParams.has("model")).toBe(false);
    expect(new URL(page.url()).searchParams.has("status")).toBe(false);
  });

  it("shows its values to a finger, and leads to the requests at the next tap", async () => {
    const { page } = await overview.pageOf(overview.used, "/", {
      viewport: { width: 375, height: 800 },
      hasTouch: true,
      isMobile: true,
    });
    const chart = chartOf(page, "Errors");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    if (box === null) throw new Error("the chart is not there");
    const foot = { x: box.width - box.width / 14, y: box.height - 4 };
    await chart.tap({ position: foot });
    const tooltip = page.locator(".ChartTooltip_chartTooltip");
    await tooltip.getByText("unknown model").waitFor();
    await tooltip.getByText("Tap again to see the requests.").waitFor();
    // At another interval, too.
    await chart.tap({ position: { x: 4, y: foot.y } });
    await tooltip.getByText("unknown model").waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/");
    await chart.tap({ position: foot });
    await tooltip.getByText("unknown model").waitFor();
    await chart.tap({ position: foot });
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("error_code")).toBe("model_not_found");
  });

  it("of errors leads to the failed requests of an interval by keyboard", async () => {
    const { page } = await overview.pageOf(overview.used, "/?by=none");
    await chartOf(page, "Errors").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Request log" }).waitFor();
    expect(new URL(page.url()).searchParams.get("status")).toBe("error");
    await page.getByText("model_not_found").first().waitFor();
    expect(await page.getByText("sandbox/lorem").count()).toBe(0);
  });

  it("of tokens tells those of prompts, of cached prompts and of answers apart", async () => {
    const { total } = await overview.used.trpc.usage.summary.query({
      from: new Date(Date.now() - DAY_MS).toISOString(),
      to: new Date().toISOString(),
      interval: "day",
    });
    const { page } = await overview.pageOf(overview.used);
    const chart = chartOf(page, "Input and output tokens");
    await expect
      .poll(() => chart.getAttribute("aria-valuetext"))
      .toContain(`Input ${total.promptTokens - total.cachedTokens}, Output ${total.completionTokens}`);
  });

  it("says in words that it has nothing to show", async () => {
    const { page } = await overview.site.open(overview.used, "/models/sandbox%2Florem");
    const charts = page.getByRole("figure");
    await charts.getByText("No errors", { exact: true }).waitFor();
    expect(await charts.getByText(/^No /).allTextContents()).toEqual(["No errors"]);
  });

  it("leaves out a series that is switched off in its legend", async () => {
    const { page } = await overview.pageOf(overview.used);
    const panel = page.getByRole("region", { name: "Requests over time" });
    await panel.getByRole("button", { name: "sandbox/echo" }).click();
    const said = () => chartOf(page, "Requests").getAttribute("aria-valuetext");
    await expect.poll(said).toMatch(/: sandbox\/lorem 2, unknown model 1$/);
    await panel.getByRole("button", { name: "sandbox/echo" }).click();
    await expect.poll(said).toMatch(/: sandbox\/echo 3, /);
  });

  it("shows what its own figure is highest for, and the table is sorted by any", async () => {
    const { page } = await overview.pageOf(overview.used);
    const errors = page.getByRole("region", { name: "Errors over time" });
    await chartOf(page, "Errors").waitFor();
    expect(await chartOf(page, "Errors").getAttribute("aria-valuetext")).toMatch(/: unknown model 1$/);
    expect(await errors.getByRole("button").allTextContents()).toEqual(["unknown model"]);
    await page.getByRole("columnheader", { name: "Errors" }).getByRole("button").click();
    await expect.poll(async () => (await countsOf(page))[0]?.[0]).toBe("unknown model");
    await page.getByRole("columnheader", { name: "Model" }).getByRole("button").click();
    await expect.poll(async () => (await countsOf(page))[0]?.[0]).toBe("sandbox/echo");
    await page.getByRole("columnheader", { name: "Model" }).getByRole("button").click();
    await expect.poll(async () => (await countsOf(page))[0]?.[0]).toBe("unknown model");
    expect(await page.getByRole("columnheader", { name: "Model" }).getAttribute("aria-sort")).toBe(
      "descending",
    );
  });

  it("is sorted on a phone too, where its rows are cards, by finger and by keyboard", async () => {
    const { page } = await overview.pageOf(overview.used, "/", { viewport: { width: 375, height: 800 } });
    const table = page.getByRole("table", { name: /^Usage/ });
    await table.getByRole("button", { name: "Errors" }).click();
    await expect.poll(async () => (await countsOf(page))[0]?.[0]).toBe("unknown model");
    await page.keyboard.press("Shift+Tab");
    const focused = page.locator("thead button:focus");
    expect(await focused.textContent()).toMatch(/^Requests/);
    // A pointer reaches only what is seen.
    await focused.click({ trial: true });
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await countsOf(page))[0]?.[0]).toBe("sandbox/echo");
  });

  it("takes the colours of the theme that is chosen", async () => {
    const { page } = await overview.pageOf(overview.used);
    await chartOf(page, "Requests").waitFor();
    for (const theme of ["Dark", "Light", "Dark"]) {
      await chooseInAccountMenu(page, theme);
      await expect.poll(() => page.evaluate(missingColours)).toEqual([]);
      // The menu stays open after a choice.
      await page.keyboard.press("Escape");
      await page.getByRole("menu").waitFor({ state: "detached" });
    }
  });

  it.each([375, 1_920])("has room for what is written below it, in a window of %i pixels", async (width) => {
    const { page } = await overview.pageOf(overview.used, "/", { viewport: { width, height: 800 } });
    for (const range of ["24 hours", "7 days", "30 days", "12 months"]) {
      await page.getByRole("button", { name: range }).click();
      await page.getByRole("img", { name: `Requests by model, the last ${range}` }).waitFor();
      const { texts, overlaps, fits } = await page.evaluate(roomBelowCharts);
      expect(texts, range).toBeGreaterThanOrEqual(4 * 3);
      expect({ overlaps, fits }, range).toEqual({ overlaps: 0, fits: true });
    }
  });
});

/** How many texts stand below charts, how many of them touch the next one, and whether the page needs no sideways scrolling. */
function roomBelowCharts(): { readonly texts: number; readonly overlaps: number; readonly fits: boolean } {
  const boxes = [...document.querySelectorAll(".Chart_chartTimes")].flatMap((axis) => {
    const own = [...axis.children].map((text) => text.getBoundingClientRect());
    return own.map((box, index) => ({ box, next: own[index + 1] }));
  });
  return {
    texts: boxes.length,
    overlaps: boxes.filter(({ box, next }) => next !== undefined && box.right > next.left).length,
    fits: document.documentElement.scrollWidth <= innerWidth,
  };
}

/** Which colours of the legend, as the styles have them now, are not to be found in the first chart. */
function missingColours(): string[] {
  const canvas = document.querySelector<HTMLCanvasElement>(".Chart_chartPlot canvas");
  const context = canvas?.getContext("2d");
  const legend = document.querySelector(".ChartLegend_chartLegend");
  const swatches = [...(legend?.querySelectorAll(".ChartLegend_chartSwatch") ?? [])];
  if (canvas === null || context == null || swatches.length < 3) return ["chart or legend"];
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const drawn = new Set<string>();
  for (let at = 0; at < data.length; at += 4) drawn.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
  return swatches
    .map((swatch) => getComputedStyle(swatch).backgroundColor)
    .filter((colour) => !drawn.has(colour));
}
