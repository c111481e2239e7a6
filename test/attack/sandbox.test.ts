import { beforeAll, describe, expect, it } from "vitest";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startOperatedService);
let tenant: Awaited<ReturnType<typeof signUpWithKey>>;
let other: Awaited<ReturnType<typeof signUpWithKey>>;

beforeAll(async () => {
  [tenant, other] = await Promise.all([signUpWithKey(service.baseUrl), signUpWithKey(service.baseUrl)]);
});

function say(key: string, content: string, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content }] }),
    signal,
  });
}

async function statusOf(key: string, content: string): Promise<number> {
  const response = await say(key, content);
  await response.arrayBuffer();
  return response.status;
}

describe("an error that an account asks the sandbox to simulate", () => {
  it("is returned with the requested status, wherever the service itself uses that status", async () => {
    for (const status of [401, 402, 403, 404, 408, 409, 413, 415, 429, 502, 503, 504]) {
      expect(await statusOf(tenant.key, `sandbox:error ${status}`)).toBe(status);
    }
    const limited = await say(tenant.key, "sandbox:error 429");
    expect(await limited.json()).toMatchObject({
      error: { code: "rate_limit_exceeded", type: "rate_limit_error" },
    });
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("opens no breaker, so that others can still use the sandbox", async () => {
    for (let failure = 0; failure < 20; failure++) {
      await statusOf(tenant.key, failure % 2 === 0 ? "sandbox:error 500" : "sandbox:cut");
    }
    expect(await statusOf(other.key, "hello")).toBe(200);
    expect(await statusOf(tenant.key, "hello")).toBe(200);
  });

  it("raises no alert for the operator", async () => {
    await statusOf(tenant.key, "sandbox:error 401");
    await statusOf(tenant.key, "sandbox:error 403");
    const operator = await signInOperator(service.baseUrl);
    const { upstreams } = await operator.trpc.operator.upstreams.query();
    expect(upstreams).toMatchObject([
      { name: "sandbox", breaker: "closed", failures: 0, credentialRefusedAt: null },
    ]);
    const { events } = await operator.trpc.operator.security.query({ limit: 100 });
    expect(events.filter(({ kind }) => kind === "upstream_credential_refused")).toEqual([]);
  });

  it("does not delay other accounts, whose limits are their own", async () => {
    const leave = new AbortController();
    // As many as the plan allows: far more of them than that would be other accounts'.
    const slow = Array.from({ length: 20 }, () =>
      say(tenant.key, "sandbox:delay 30000", leave.signal).catch(() => null),
    );
    expect(await statusOf(other.key, "hello")).toBe(200);
    leave.abort();
    await Promise.all(slow);
  });
});
