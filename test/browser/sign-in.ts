import type { Page } from "playwright-core";
import { type Owner, PASSWORD } from "../fixtures/user.ts";

/** Fills in the sign-in form where the page stands. */
export async function fillSignIn(page: Page, owner: Pick<Owner, "email">): Promise<void> {
  await page.getByLabel("E-mail").fill(owner.email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Signs in from anywhere and waits for the keys. */
export async function signInAt(page: Page, owner: Pick<Owner, "email">): Promise<void> {
  await page.goto("/sign-in?to=/settings/keys");
  await fillSignIn(page, owner);
  await page.getByRole("heading", { name: "API keys" }).waitFor();
}
