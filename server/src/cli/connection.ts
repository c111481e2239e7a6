import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import { transportOf } from "../../../sdk/src/core/settings.ts";
import { openTrpc, type Trpc } from "../../../sdk/src/core/trpc.ts";
import { OstiaryOperator } from "../../../sdk/src/operator.ts";
import { fileVariableOf, withSecretsFromFiles } from "../config/secret-files.ts";
import { commandLogger, type timeoutsOf } from "./output.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

type Timeouts = ReturnType<typeof timeoutsOf>;

const SERVICE = "OSTIARY";

/** A client of the service with an operator's management token. It does not retry. */
export function operatorOf(environment: Environment, timeouts: Timeouts): OstiaryOperator {
  const managementToken = required(
    environment,
    "OSTIARY_MANAGEMENT_TOKEN",
    'Create one with the command "token <name>".',
  );
  return new OstiaryOperator({
    managementToken,
    baseURL: environment.OSTIARY_BASE_URL,
    maxRetries: 0,
    logger: commandLogger(),
    service: SERVICE,
    ...timeouts,
  });
}

/** Signs in as the configured operator, for as long as `use` takes. */
export async function asConfiguredOperator<Result>(
  environment: Environment,
  timeouts: Timeouts,
  use: (trpc: Trpc) => Promise<Result>,
): Promise<Result> {
  const email = required(environment, "OSTIARY_OPERATOR_EMAIL", "It names the operator.");
  const password = required(environment, "OSTIARY_OPERATOR_PASSWORD", "It is the operator's password.");
  const options = {
    baseURL: environment.OSTIARY_BASE_URL,
    maxRetries: 0,
    logger: commandLogger(),
    fetch: sessionFetch(),
    ...timeouts,
  };
  const trpc = openTrpc(transportOf(options, SERVICE, () => "").transport);
  await trpc.auth.signIn.mutate({ email, password });
  try {
    return await use(trpc);
  } finally {
    await trpc.auth.signOut.mutate();
  }
}

/** A `fetch` that keeps the cookie of its session. */
function sessionFetch(): typeof fetch {
  let cookie = "";
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.delete("authorization");
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await fetch(input, { ...init, headers });
    for (const line of response.headers.getSetCookie()) cookie = line.split(";", 1)[0] ?? "";
    return response;
  };
}

function required(environment: Environment, name: string, hint: string): string {
  const file = fileVariableOf(name);
  const set = {
    [name]: environment[name]?.trim() || undefined,
    [file]: environment[file]?.trim() || undefined,
  };
  const { environment: complete, problems } = withSecretsFromFiles(set, [name]);
  if (problems.length > 0) throw new OstiaryError(problems.join("\n"));
  const value = complete[name];
  if (value === undefined) throw new OstiaryError(`${name} is not set. ${hint}`);
  return value;
}
