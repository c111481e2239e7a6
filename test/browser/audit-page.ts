import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { sendChat } from "../fixtures/request.ts";

/** Makes an entry. @returns the request's id. */
export async function chat(baseUrl: string, key: string, model = "sandbox/echo"): Promise<string> {
  const response = await sendChat(baseUrl, key, { model, messages: [{ role: "user", content: "hello" }] });
  await response.arrayBuffer();
  return response.headers.get("x-request-id") ?? "";
}

/** What the API exports. */
export async function exported(baseUrl: string, key: string, query: string): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/audit/export?${query}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  return response.text();
}

/** Opens a choice and types into its search. */
export async function searchIn(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole("combobox", { name: label, exact: true }).click();
  await page.getByRole("dialog").getByRole("combobox").fill(text);
}

/** The rows of entries, without the head. */
export function rowsOf(page: Page): Locator {
  return page.getByRole("grid").locator("tbody").getByRole("row");
}

export function rowOf(page: Page, requestId: string): Locator {
  return rowsOf(page).filter({ has: page.getByRole("button", { name: `Details of ${requestId}` }) });
}

/** Goes to the last row, and on to what is loaded then, until there is no more. */
export async function goToEnd(page: Page): Promise<void> {
  await rowsOf(page).first().focus();
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      return page.getByText(/ in total\.$/).isVisible();
    })
    .toBe(true);
  // What was loaded last may have come after the key.
  await page.keyboard.press("End");
}

/** The index of the row that has the focus, if it can be seen. */
export function focusedRow(page: Page): Promise<number | null> {
  return page.evaluate(() => {
    const row = document.activeElement as HTMLElement;
    const frame = row.closest(".EntryFrame_frame")?.getBoundingClientRect();
    const { top, bottom } = row.getBoundingClientRect();
    if (frame === undefined || top < frame.top - 1 || bottom > frame.bottom + 1) return null;
    return Number(row.dataset.index);
  });
}

/** Opens the dialog of exports and starts one. */
export async function startExport(page: Page, format: "CSV" | "NDJSON"): Promise<void> {
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("button", { name: format }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click();
}
