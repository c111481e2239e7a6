import { Ostiary } from "../../sdk/src/client.ts";
import { startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";

export type ManagedService = Awaited<ReturnType<typeof startManagedService>>;

/** A service with an operator, and with an account that has a key and a management token. */
export async function startManagedService() {
  const service = await startOperatedService();
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "first" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  return {
    service,
    owner,
    key,
    token,
    /** The account's client. It does not retry, unless the options say so. */
    client: (options: object = {}) =>
      new Ostiary({
        apiKey: key,
        managementToken: token,
        baseURL: service.baseUrl,
        maxRetries: 0,
        ...options,
      }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** The environment of a program that uses the key and the management token of a new account. */
export async function environmentOfOwner(
  { baseUrl }: Service,
  home: string,
): Promise<Record<string, string>> {
  const owner = await signUp(baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "first" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    NO_COLOR: "1",
    OSTIARY_API_KEY: key,
    OSTIARY_MANAGEMENT_TOKEN: token,
    OSTIARY_BASE_URL: baseUrl,
  };
}
