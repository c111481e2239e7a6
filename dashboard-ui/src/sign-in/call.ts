import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import { useState } from "react";
import { tellOtherTabs } from "./other-tabs.ts";

/** The timeout of signing in and up, whose answers take a second of hashing at most. */
const CALL_TIMEOUT_MS = 30_000;
const INFO_TIMEOUT_MS = 10_000;

type Inputs = inferRouterInputs<AppRouter>["auth"];
export type ServiceInfo = inferRouterOutputs<AppRouter>["service"]["info"];

/** Reads what the pages show of the service. Nothing depends on it: `undefined` if the service does not answer in time. */
export async function readServiceInfo(): Promise<ServiceInfo | undefined> {
  try {
    const response = await fetch("/trpc/service.info", {
      cache: "no-store",
      signal: AbortSignal.timeout(INFO_TIMEOUT_MS),
    });
    const { result } = (await response.json()) as { result: { data: { json: ServiceInfo } } };
    return result.data.json;
  } catch {
    return undefined;
  }
}

/** The error of a call, in the form in which `api/errors.ts` reads those of tRPC's client. */
class CallError extends Error {
  readonly data: unknown;
  readonly meta: { readonly response: Response; readonly responseJSON: unknown };

  /** @param body what the answer says, which is another one than the service's where a proxy has refused the call. */
  constructor(response: Response, body: unknown) {
    const error = (body as { error?: { json?: { message: string; data: unknown } } } | null)?.error;
    super(error?.json?.message ?? "");
    this.data = error?.json?.data;
    this.meta = { response, responseJSON: body };
  }
}

/** Calls a procedure. tRPC's client would be half as much script again as the page. */
async function call<Name extends "signIn" | "signUp">(name: Name, input: Inputs[Name]): Promise<void> {
  const response = await fetch(`/trpc/auth.${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ json: input }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  if (!response.ok) throw new CallError(response, jsonOf(await response.text()));
}

/** What a text means as JSON; `null` if it is none. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A call, and its state. Once it has succeeded, it stays pending while the browser goes to the dashboard. */
export function useCall<Name extends "signIn" | "signUp">(name: Name, onSuccess: () => void) {
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const mutate = async (input: Inputs[Name]) => {
    if (isPending) return;
    setPending(true);
    setError(null);
    try {
      await call(name, input);
      tellOtherTabs("signed in");
      onSuccess();
    } catch (thrown) {
      setError(thrown);
      setPending(false);
    }
  };
  return { mutate: (input: Inputs[Name]) => void mutate(input), error, isPending };
}
