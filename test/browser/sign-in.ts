import type { Page } from "playwright-core";
import { type Owner, PASSWORD } from "../fixtures/user.ts";

/** Fills in the sign-in form where the page stands. */
export async function fillSignIn(page: Page, owner: Pick<Owner, "email">): Promise<void> {
  await page.getByLabel("E-mail").fill(owner.email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}
