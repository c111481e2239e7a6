import { readFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { Download } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chat, exported, rowsOf, startExport } from "./audit-page.ts";

const site = openSite();

/** Excel takes UTF-8 without it for another encoding. The files of the API have none, because scripts read them. */
const BYTE_ORDER_MARK = "\uFEFF";

async function textOf(download: Download): Promise<string> {
  return readFile(await download.path(), "utf8");
}

interface CuttingProxy extends AsyncDisposable {
  readonly baseUrl: string;
  /** The queries of all exports so far. */
  readonly exports: readonly URLSearchParams[];
  /** From now on the next exports are cut after so many bytes, `null`: none. */
  cutAfter(bytes: number | null): void;
}

/** A way to the service on which exports break off. Nothing is compressed on it. */
async function openCuttingProxy(): Promise<CuttingProxy> {
  const exports: URLSearchParams[] = [];
  let cutAfterBytes: number | null = null;
  const server = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url ?? "/", site.service.baseUrl);
    const isExport = url.pathname === "/dashboard/audit/export";
    if (isExport) exports.push(url.searchParams);
    const { "accept-encoding": _, ...headers } = incoming.headers;
    const onward = httpRequest(url, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        outgoing.write(chunk);
        if (!isExport || cutAfterBytes === null || bytes < cutAfterBytes) return;
        answer.destroy();
        outgoing.destroy();
      });
      answer.on("end", () => outgoing.end());
      answer.on("error", () => outgoing.destroy());
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    cutAfter: (bytes) => {
      cutAfterBytes = bytes;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe.skipIf(!hasBrowser)("an export of the audit log", () => {
  let owner: Awaited<ReturnType<typeof signUpWithKey>>;

  beforeAll(async () => {
    if (!hasBrowser) return;
    owner = await signUpWithKey(site.service.baseUrl);
    await insertEntries(site.service, owner, 12_000);
  });

  it.each(["CSV", "NDJSON"] as const)("saves what is filtered, as the API exports it: %s", async (format) => {
    const { page, complaints } = await site.open(owner, "/audit?status=4xx&model=acme/chat-3");
    await rowsOf(page).first().waitFor();
    const downloading = page.waitForEvent("download");
    await startExport(page, format);
    const download = await downloading;
    await page.getByRole("dialog").getByText("190 entries are in audit-").waitFor();
    expect(download.suggestedFilename()).toMatch(new RegExp(`^audit-[-\\d]+\\.${format.toLowerCase()}$`));
    const proof = format === "CSV" ? "" : "&proof=true";
    const query = `format=${format.toLowerCase()}&status=4xx&model=acme/chat-3${proof}`;
    const saved = await textOf(download);
    const mark = format === "CSV" ? BYTE_ORDER_MARK : "";
    expect(saved).toBe(mark + (await exported(site.service.baseUrl, owner.key, query)));
    const lines = saved
      .trimEnd()
      .split("\n")
      .filter((line) => !line.startsWith('{"proof"'));
    expect(lines).toHaveLength(format === "CSV" ? 191 : 190);
    expect(complaints).toEqual([]);
  });

  it("of one entry speaks of one", async () => {
    const single = await signUpWithKey(site.service.baseUrl);
    await chat(site.service.baseUrl, single.key);
    const { page } = await site.open(single, "/audit");
    await rowsOf(page).first().waitFor();
    await startExport(page, "CSV");
    await page.getByRole("dialog").getByText("1 entry is in audit-").waitFor();
    await page
      .getByRole("dialog")
      .getByText(/^1 entry, \d/)
      .waitFor();
  });

  it("says what will be in the file", async () => {
    const { page } = await site.open(
      owner,
      "/audit?status=4xx&source=192.0.2.0/24&from=2026-01-31T12:00:00Z",
      {
        timezoneId: "UTC",
      },
    );
    await page.getByRole("button", { name: "Export" }).click();
    const words = page.getByRole("dialog").getByRole("listitem");
    await words.first().waitFor();
    expect(await words.allTextContents()).toEqual([
      "from 31 Jan 2026, 12:00 UTC",
      "status 4xx",
      "source 192.0.2.0/24",
    ]);
  });

  it("can be started where the name of the filter's model is longer than the dialog", async () => {
    const { page } = await site.open(owner, `/audit?model=${"long-".repeat(30)}`);
    for (const width of [1_440, 375]) {
      await page.setViewportSize({ width, height: 900 });
      await page.getByText("No entry matches").waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      await page.getByRole("button", { name: "Export" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("listitem").waitFor();
      expect(await dialog.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    }
  });

  it("is of the last month of UTC with two choices, and its period can be edited", async () => {
    const { page, complaints } = await site.open(owner, "/audit", { timezoneId: "Europe/Berlin" });
    const now = new Date();
    const [from, to] = [-1, 0].map((later) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later)).toISOString(),
    );
    const time = page.getByLabel("Time", { exact: true });
    await time.selectOption("Last month (UTC)");
    await page.waitForURL(/range=last-month/);
    await page.getByRole("button", { name: "Export" }).click();
    const words = page.getByRole("dialog").getByRole("listitem");
    await expect
      .poll(() => words.allTextContents())
      .toEqual([expect.stringMatching(/^from 1 /), expect.stringMatching(/^before 1 /)]);
    await page.keyboard.press("Escape");
    await time.selectOption("Custom…");
    await page.waitForURL(
      (url) => url.searchParams.get("from") === from && url.searchParams.get("to") === to,
    );
    expect(complaints).toEqual([]);
  });

  it("goes on where it was cut, without gap or repeat", async () => {
    await using proxy = await openCuttingProxy();
    const { page } = await site.open({ ...owner, baseUrl: proxy.baseUrl }, "/audit");
    await rowsOf(page).first().waitFor();
    proxy.cutAfter(1_500_000);
    const downloading = page.waitForEvent("download", { timeout: 60_000 });
    await startExport(page, "CSV");
    await expect.poll(() => proxy.exports.length).toBeGreaterThan(1);
    proxy.cutAfter(null);
    const saved = await textOf(await downloading);
    expect(proxy.exports[0]?.has("cursor")).toBe(false);
    expect(proxy.exports[1]?.has("cursor")).toBe(true);
    expect(saved).toBe(BYTE_ORDER_MARK + (await exported(site.service.baseUrl, owner.key, "format=csv")));
  });

  it("is not saved when it is given up", async () => {
    await using proxy = await openCuttingProxy();
    const { page } = await site.open({ ...owner, baseUrl: proxy.baseUrl }, "/audit");
    await rowsOf(page).first().waitFor();
    const saved: Download[] = [];
    page.on("download", (download) => saved.push(download));
    proxy.cutAfter(1);
    await startExport(page, "NDJSON");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Connection lost. Resuming…").waitFor();
    await dialog.getByRole("button", { name: "Cancel export" }).click();
    await dialog.waitFor({ state: "detached" });
    proxy.cutAfter(null);
    await page.goto("/audit");
    await rowsOf(page).first().waitFor();
    expect(saved).toEqual([]);
  });

  it("that breaks off again and again is not saved, and goes on when asked", async () => {
    await using proxy = await openCuttingProxy();
    const { page } = await site.open({ ...owner, baseUrl: proxy.baseUrl }, "/audit?model=acme/chat-5");
    await rowsOf(page).first().waitFor();
    await page.clock.install();
    const saved: Download[] = [];
    page.on("download", (download) => saved.push(download));
    proxy.cutAfter(1);
    await startExport(page, "CSV");
    const dialog = page.getByRole("dialog");
    await expect
      .poll(async () => {
        await page.clock.fastForward(10_000);
        return dialog.getByRole("alert").isVisible();
      })
      .toBe(true);
    await dialog.getByRole("alert").getByText("continues where the export stopped").waitFor();
    expect(saved).toEqual([]);
    proxy.cutAfter(null);
    await dialog.getByRole("button", { name: "Resume" }).click();
    await expect.poll(() => saved.length).toBe(1);
    const [download] = saved;
    expect(download === undefined ? "" : await textOf(download)).toBe(
      BYTE_ORDER_MARK + (await exported(site.service.baseUrl, owner.key, "format=csv&model=acme/chat-5")),
    );
  });

  it("is written to disk as it comes, where the browser can", async () => {
    const { page } = await site.open(owner, "/audit?status=4xx");
    await page.evaluate(() => {
      const showSaveFilePicker = async ({ suggestedName }: { suggestedName: string }) => {
        const folder = await navigator.storage.getDirectory();
        return folder.getFileHandle(suggestedName, { create: true });
      };
      Object.assign(window, { showSaveFilePicker });
    });
    await startExport(page, "NDJSON");
    await page.getByRole("dialog").getByText("1,333 entries are in audit-").waitFor();
    const written = await page.evaluate(async () => {
      const folder = await navigator.storage.getDirectory();
      const texts: string[] = [];
      for await (const handle of folder.values()) {
        if (handle.kind === "file")
          texts.push(await (await (handle as FileSystemFileHandle).getFile()).text());
      }
      return texts;
    });
    expect(written).toEqual([
      await exported(site.service.baseUrl, owner.key, "format=ndjson&status=4xx&proof=true"),
    ]);
  });

  it("that the service refuses says why", async () => {
    const { page } = await site.open(owner, "/audit?source=nonsense");
    await page.getByText("Must be an IP address").waitFor();
    await startExport(page, "CSV");
    await page.getByRole("dialog").getByRole("alert").getByText("must be an IP address").waitFor();
  });
});
