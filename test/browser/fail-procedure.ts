import type { Page } from "playwright-core";

/** The addresses of procedures. */
export const PROCEDURES = "**/trpc/**";

/** Answers a procedure with an error, also among others that are asked for with it. */
export async function failProcedure(page: Page, procedure: string): Promise<void> {
  const data = { ostiary: { code: "service_unavailable", param: null } };
  const failed = { error: { json: { message: "The database is busy.", code: -32603, data } } };
  await replaceAnswer(page, procedure, failed, 503);
}

/** Answers a procedure with other data than the service's, also among others that are asked for with it. */
export async function answerProcedure(page: Page, procedure: string, data: unknown): Promise<void> {
  await replaceAnswer(page, procedure, { result: { data: { json: data } } }, 200);
}

async function replaceAnswer(page: Page, procedure: string, answer: object, status: number): Promise<void> {
  await page.route(PROCEDURES, async (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const names = pathname.split("/").at(-1)?.split(",") ?? [];
    if (!names.includes(procedure)) return route.fallback();
    if (!searchParams.has("batch")) return route.fulfill({ status, json: answer });
    const response = await route.fetch();
    const results: readonly unknown[] = await response.json();
    return route.fulfill({
      status: 207,
      json: results.map((result, index) => (names[index] === procedure ? answer : result)),
    });
  });
}

/** Loses the answer to the next call of a procedure, which the service has run. */
export async function loseAnswer(page: Page, procedure: string): Promise<void> {
  await page.route(
    `**/trpc/${procedure}**`,
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
}

/** Refuses a procedure as a proxy does, which does not ask the service. */
export async function refuseByProxy(
  page: Page,
  procedure: string,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  await page.route(`**/trpc/${procedure}**`, (route) =>
    route.fulfill({ status, headers, contentType: "text/html", body: "<h1>Refused</h1>" }),
  );
}
