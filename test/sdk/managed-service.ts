import { Ostiary } from "../../sdk/src/client.ts";
import { startOperatedService } from "../fixtures/operator.ts";
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
