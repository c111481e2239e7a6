import { createTRPCClient, httpLink, type TRPCClient } from "@trpc/client";
import { clientTransformer } from "../../../sdk/src/contract/procedure-data.ts";
import type { AppRouter } from "../rpc/router.ts";
import { CliError } from "./cli-error.ts";

export type Client = TRPCClient<AppRouter>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** The service as an operator's management token opens it. */
export interface Connection {
  readonly client: () => Client;
  /** Signs in as the configured operator, for as long as `use` takes. */
  readonly asPerson: <Result>(use: (client: Client) => Promise<Result>) => Promise<Result>;
}

const DEFAULT_BASE_URL = "http://127.0.0.1:8080";

export function connectionOf(environment: Environment): Connection {
  const url = `${baseUrlOf(environment)}/trpc`;
  return {
    client: () => {
      const token = required(environment, "OSTIARY_MANAGEMENT_TOKEN", 'Create one with "token <name>".');
      return clientAt(url, () => ({ authorization: `Bearer ${token}` }));
    },
    asPerson: async (use) => {
      const email = required(
        environment,
        "OSTIARY_OPERATOR_EMAIL",
        "Set it to the operator's e-mail address.",
      );
      const password = required(
        environment,
        "OSTIARY_OPERATOR_PASSWORD",
        "Set it to the operator's password.",
      );
      let cookie = "";
      const client = clientAt(
        url,
        (): Record<string, string> => (cookie === "" ? {} : { cookie }),
        (response) => {
          for (const line of response.headers.getSetCookie()) cookie = line.split(";", 1)[0] ?? "";
        },
      );
      await client.auth.signIn.mutate({ email, password });
      try {
        return await use(client);
      } finally {
        await client.auth.signOut.mutate();
      }
    },
  };
}

function clientAt(
  url: string,
  headers: () => Record<string, string>,
  onResponse: (response: Response) => void = () => {},
): Client {
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url,
        transformer: clientTransformer,
        headers,
        fetch: async (input, init) => {
          const response = await fetch(input, init as RequestInit);
          onResponse(response);
          return response;
        },
      }),
    ],
  });
}

/** The address without a path: that of the SDK, with `/v1`, is taken too. */
function baseUrlOf(environment: Environment): string {
  const text = environment.OSTIARY_BASE_URL?.trim() || DEFAULT_BASE_URL;
  if (!URL.canParse(text)) throw new CliError(`OSTIARY_BASE_URL is not a URL: ${text}`);
  return text.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function required(environment: Environment, name: string, hint: string): string {
  const value = environment[name]?.trim();
  if (value === undefined || value === "") throw new CliError(`${name} is not set. ${hint}`);
  return value;
}
