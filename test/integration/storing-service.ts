import { Failure } from "../../server/src/errors/failure.ts";
import { accountIdOf, openResponseStore, responseOf } from "../fixtures/responses.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

export interface Asked {
  readonly method?: string;
  readonly key: string;
  /** The service's address. */
  readonly at: string;
}

/** Sends a request for a stored response, or for what belongs to it. */
export function ask(path: string, { method = "GET", key, at }: Asked): Promise<Response> {
  return fetch(`${at}/v1/responses/${path}`, { method, headers: { authorization: `Bearer ${key}` } });
}

export type StoringService = Awaited<ReturnType<typeof startStoringService>>;

/** A service with an account, whose responses a test stores. */
export async function startStoringService() {
  const service = await startService();
  const stored = await openResponseStore(service);
  const owner = await signUpWithKey(service.baseUrl);
  const accountId = await accountIdOf(owner);
  return {
    service,
    stored,
    owner,
    accountId,
    /** Asks this service with the account's key, unless told otherwise. */
    ask: (path: string, asked: Partial<Asked> = {}) =>
      ask(path, { key: owner.key, at: service.baseUrl, ...asked }),
    /** Stores a response of the account. */
    save: async (text: string, previousResponseId: string | null = null) => {
      const kept = responseOf(text, previousResponseId);
      await stored.store.save(accountId, kept);
      return kept;
    },
    [Symbol.asyncDispose]: async () => {
      await stored[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** The status and body of an answer. */
export async function answerOf(asked: Promise<Response>) {
  const response = await asked;
  return { status: response.status, body: await response.json() };
}

/** The failure that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const thrown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Failure)) throw new Error("there was no failure", { cause: thrown });
  return thrown;
}

/** What a service is started with to go on with what another has left. */
export function inheritance({ dataDir, databaseUrl }: Service) {
  return { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
}
