import { expect } from "vitest";
import { sendChat } from "../fixtures/request.ts";
import { startService } from "../fixtures/service.ts";
import type { Owner } from "../fixtures/user.ts";

/** An entry of the log, of a page or of an export. */
export interface Line {
  readonly id: string;
  readonly status: number;
  readonly model: string | null;
  readonly key_name: string;
  readonly cursor: string;
  readonly [field: string]: unknown;
}

export type AuditService = Awaited<ReturnType<typeof startAuditService>>;

/** A service that believes its clients which address they have. */
export async function startAuditService() {
  const service = await startService({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  return {
    service,
    /** A request for the log to record. @returns the status of its answer. */
    chat: async (key: string, model = "sandbox/echo", from = "192.0.2.1"): Promise<number> => {
      const response = await sendChat(
        service.baseUrl,
        key,
        { model },
        { headers: { "x-forwarded-for": from } },
      );
      await response.arrayBuffer();
      return response.status;
    },
    /** The lines of an export. */
    exported: async (headers: Record<string, string>, query = ""): Promise<Line[]> => {
      const response = await fetch(`${service.baseUrl}/v1/audit/export?${query}`, { headers });
      expect(response.status).toBe(200);
      return linesOf(await response.text());
    },
    /** The entries of a page. */
    listed: async (headers: Record<string, string>, query = ""): Promise<Line[]> => {
      const response = await fetch(`${service.baseUrl}/v1/audit?${query}`, { headers });
      expect(response.status).toBe(200);
      return (await response.json()).data;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** A reader that leaves no entries in the log that it reads. */
export async function reader(owner: Owner): Promise<Record<string, string>> {
  const { token } = await owner.trpc.tokens.create.mutate({ name: crypto.randomUUID() });
  return { authorization: `Bearer ${token}` };
}

/** The lines of an export's text, which has no line that was cut. */
export function linesOf(text: string): Line[] {
  expect(text === "" || text.endsWith("\n")).toBe(true);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
