import process from "node:process";
import { writeCatalog } from "../fixtures/catalog.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { type Stub, startStub } from "./stub/server.ts";

/** The models of the gateway under test, by the format that their upstream speaks. */
export const MODELS = ["stub-chat", "stub-responses", "stub-messages"] as const;

/** A gateway whose three models are served by the stub. */
export interface Target extends AsyncDisposable {
  /** Scheme, host and port, without a path. */
  readonly url: string;
  readonly key: string;
  readonly stub: Stub;
}

/**
 * The gateway under test. By default a service that is started for the tests. To test another gateway, set `CLIENTS_GATEWAY_URL`,
 * `CLIENTS_GATEWAY_KEY` and `CLIENTS_STUB_PORT`, and configure its models as the README of this folder says.
 */
export async function openTarget(): Promise<Target> {
  const { CLIENTS_GATEWAY_URL: url, CLIENTS_GATEWAY_KEY: key, CLIENTS_STUB_PORT: port } = process.env;
  if (url !== undefined && key !== undefined && port !== undefined) {
    const stub = await startStub(Number(port));
    return {
      url: url.replace(/\/+$/, ""),
      key,
      stub,
      [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose](),
    };
  }
  const stub = await startStub();
  const catalog = await writeCatalog({
    upstreams: {
      chat: { dialect: "openai", baseUrl: `${stub.url}/chat/v1` },
      responses: { dialect: "openai-responses", baseUrl: `${stub.url}/responses/v1` },
      messages: { dialect: "anthropic", baseUrl: `${stub.url}/messages/v1` },
    },
    models: MODELS.map((id) => ({
      id,
      aliases: [`claude-${id}`],
      routes: [{ upstream: id.slice("stub-".length), model: "stub" }],
    })),
  });
  const service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
  const { key: ownKey } = await signUpWithKey(service.baseUrl);
  return {
    url: service.baseUrl,
    key: ownKey,
    stub,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
      await stub[Symbol.asyncDispose]();
    },
  };
}
