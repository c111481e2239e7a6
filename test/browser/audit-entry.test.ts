import { describe, expect, it } from "vitest";
import { hasBrowser } from "../fixtures/browser.ts";
import { openSite } from "../fixtures/site.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { chat, focusedRow, rowOf, rowsOf } from "./audit-page.ts";

const site = openSite();

describe.skipIf(!hasBrowser)("an audit entry", () => {
  it("is opened in a sheet, by its link too, and one steps to its neighbours", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const ids = [
      await chat(site.service.baseUrl, owner.key),
      await chat(site.service.baseUrl, owner.key, "no/such-model"),
      await chat(site.service.baseUrl, owner.key),
    ];
    const { page, complaints } = await site.open(owner, "/audit");
    await rowsOf(page).first().focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText(ids[2] ?? "").waitFor();
    expect(new URL(page.url()).searchParams.get("entry")).toBe(ids[2]);
    await page.keyboard.press("ArrowRight");
    await dialog.getByText(ids[1] ?? "").waitFor();
    await dialog.getByText("model_not_found").waitFor();
    await dialog.getByText("Refused by the service.").waitFor();
    await dialog.getByText("The catalog does not have the model. List the models.").waitFor();
    expect(await dialog.getByRole("link", { name: "Models" }).getAttribute("href")).toBe("/models");
    expect(await dialog.getByRole("link", { name: "All error codes" }).getAttribute("href")).toBe(
      "/docs/reference/errors",
    );
    // Only what applies to a refused request is shown.
    expect(await dialog.locator("dt").allTextContents()).toEqual([
      "Request ID",
      "Time",
      "Key",
      "Source IP",
      "Endpoint",
      "Model",
      "Cost",
      "Latency",
    ]);
    await dialog.getByRole("button", { name: "Older entry" }).click();
    await dialog.getByText(ids[0] ?? "").waitFor();
    await page.keyboard.press("ArrowLeft");
    await dialog.getByText(ids[1] ?? "").waitFor();
    // With another key, an arrow selects text or leads to the page before.
    for (const key of ["Shift", "Control"]) await page.keyboard.press(`${key}+ArrowLeft`);
    await page.keyboard.press("ArrowRight");
    await dialog.getByText(ids[0] ?? "").waitFor();
    await page.keyboard.press("ArrowLeft");
    await dialog.getByText(ids[1] ?? "").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("");
    await expect.poll(() => focusedRow(page)).toBe(1);

    await rowOf(page, ids[0] ?? "").click();
    await dialog.getByText(ids[0] ?? "").waitFor();
    await page.goBack();
    await dialog.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  it("is there under its link, though the list does not hold it, and is copied as the API has it", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const requestId = await chat(site.service.baseUrl, owner.key);
    const { page } = await site.open(owner, `/audit?model=another&entry=${requestId}`);
    const dialog = page.getByRole("dialog");
    await dialog.getByText(requestId).waitFor();
    expect(await dialog.getByRole("button", { name: "Older entry" }).getAttribute("aria-disabled")).toBe(
      "true",
    );
    await dialog.getByRole("button", { name: "Copy as JSON" }).click();
    await dialog.getByRole("button", { name: "Copied" }).waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    const response = await fetch(`${site.service.baseUrl}/v1/audit`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    const { data } = (await response.json()) as { data: { request_id: string }[] };
    expect(copied).toEqual(data.find(({ request_id }) => request_id === requestId));

    await page.goto("/audit?entry=req_019a0000000070008000000000000000");
    await dialog.getByText("The account has no entry for this request").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  it("links to its key and to its model, for the keyboard too", async () => {
    const owner = await signUpWithKey(site.service.baseUrl);
    const requestId = await chat(site.service.baseUrl, owner.key);
    const unknown = [
      await chat(site.service.baseUrl, owner.key, "no/such-model"),
      await chat(site.service.baseUrl, owner.key, "no/such-model"),
    ];
    const { page, complaints } = await site.open(owner, `/audit?entry=${requestId}`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("link", { name: "test", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/settings/keys/${owner.id}*`);
    await page.getByRole("heading", { name: "test", level: 1 }).waitFor();
    await dialog.waitFor({ state: "detached" });

    await page.goBack();
    await dialog.getByRole("link", { name: "test", exact: true }).focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/models/sandbox%2Fecho*");
    await page.getByRole("heading", { name: "sandbox/echo", level: 1 }).waitFor();

    // The catalog has no page of it: its requests are shown.
    await page.goto(`/audit?entry=${unknown[0]}`);
    await dialog.getByRole("link", { name: "no/such-model" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(new URL(page.url()).searchParams.get("model")).toBe("no/such-model");
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    expect(complaints).toEqual([]);
  });
});
