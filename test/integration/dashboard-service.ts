import { expect } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { slowPost } from "../fixtures/slow-post.ts";
import type { Owner, Visitor } from "../fixtures/user.ts";

export const CHAT = "/dashboard/chat/completions";
export const EXPORT = "/dashboard/audit/export";

export type Headers = Readonly<Record<string, string>>;

export type DashboardService = Awaited<ReturnType<typeof startDashboardService>>;

/** A service whose sandbox model has a price, so that a chat of a few tokens costs something. */
export async function startDashboardService() {
  const catalog = await writeCatalog({
    upstreams: { sandbox: { dialect: "sandbox" } },
    models: [
      {
        id: "sandbox/echo",
        prices: { inputUsdPerMTok: 1, outputUsdPerMTok: 10 },
        routes: [{ upstream: "sandbox", model: "echo" }],
      },
    ],
  });
  const env = { OSTIARY_CATALOG: catalog.file };
  const service = await startOperatedService({ env });
  const { baseUrl, databaseUrl } = service;
  const operator = await signInOperator(baseUrl);
  return {
    baseUrl,
    databaseUrl,
    env,
    operator,
    /** A chat with the headers that a browser sends at the dashboard's own page. */
    chat: (headers: Headers, body = bodyOf("hi")): Promise<Response> =>
      fetch(baseUrl + CHAT, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          origin: baseUrl,
          "sec-fetch-site": "same-origin",
          ...headers,
        },
        body,
      }),
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

export function bodyOf(content: string, more: object = {}): string {
  return JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content }], ...more });
}

/** Headers of a chat in a session, with the key that pays for it. */
export function asKey(owner: Visitor, id: string): Headers {
  return { cookie: owner.cookie(), "ostiary-key": id };
}

/** The status and the error of an answer. */
export async function refusalOf(answering: Promise<Response>) {
  const response = await answering;
  const { error } = await response.json();
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  return { status: response.status, code: error.code, param: error.param };
}

/** The newest entry of the owner's audit log. */
export async function lastEntryOf(owner: Owner) {
  const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
  return entries[0];
}

/** Sends the first bytes of a chat, and the rest of its body when `finish` is called. */
export function slowChat(baseUrl: string, headers: Headers) {
  return slowPost(baseUrl + CHAT, headers, bodyOf("late"));
}
