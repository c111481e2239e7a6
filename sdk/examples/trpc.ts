// Procedures with tRPC's own client, typed by the server's router. Needs OSTIARY_MANAGEMENT_TOKEN, @trpc/client and @trpc/server.
import { createTRPCClient, isTRPCClientError } from "@trpc/client";
import { NotFoundError } from "ostiary";
import { type AppRouter, ostiaryLink, type RouterOutputs } from "ostiary/trpc";

const trpc = createTRPCClient<AppRouter>({ links: [ostiaryLink()] });

// Calls of one tick are one request.
const [account, { keys }] = await Promise.all([
  trpc.account.get.query(),
  trpc.keys.list.query({ limit: 50 }),
]);
const describe = (key: RouterOutputs["keys"]["list"]["keys"][number]) => `${key.name} (${key.state})`;
console.log("plan:", account.plan, "keys:", keys.map(describe).join(", "));

try {
  await trpc.keys.revoke.mutate({ id: "01a205ec-7a6d-75d9-81eb-8bb3082064a0" });
} catch (error) {
  // The cause is the client's own error.
  if (!isTRPCClientError<AppRouter>(error) || !(error.cause instanceof Error)) throw error;
  console.log("refused:", error.data?.httpStatus, error.cause.name, NotFoundError.name === error.cause.name);
}
