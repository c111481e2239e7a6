import * as z from "zod";
import type { Upstream } from "../../catalog/catalog.ts";
import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { Credential } from "../../catalog/credential.ts";
import { CatalogError } from "../../catalog/load-catalog.ts";
import { writeProviderCatalog } from "../../catalog/provider-catalog.ts";
import type { Actor, NewAction } from "../../contract/action.ts";
import { Failure } from "../../errors/failure.ts";
import { checkProvider, LISTING_DIALECTS } from "../../upstream/check-provider.ts";
import { DIALECTS } from "../../upstream/dialects.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure, router } from "../trpc.ts";

/** The dialect that the provider speaks. */
const dialect = z.enum(LISTING_DIALECTS);
/** The URL up to the version, such as `https://api.openai.com/v1`. */
const baseUrl = z.string().max(500).pipe(UPSTREAM_SETTINGS.baseUrl);

/** Connecting providers: checks their credentials and writes their part of a catalog file. */
export function providersRouter(services: RpcServices) {
  return router({
    /**
     * Lists a provider's models, which shows whether it accepts the credential. The service sends one request, waits up to 10
     * seconds and follows no redirect. The audit trail records the address. The credential is not stored.
     */
    check: operatorProcedure
      .input(
        z.strictObject({
          dialect,
          baseUrl,
          /** The credential, up to 4,096 printable characters; `null`: the provider needs none. */
          credential: z
            .string()
            .regex(/^[\x21-\x7e]{1,4096}$/, "must be printable ASCII without spaces")
            .nullable(),
        }),
      )
      .mutation(async ({ ctx, input }) => {
        const credential = input.credential === null ? null : new Credential(input.credential);
        const found = await checkProvider({ ...input, credential }, services.transport);
        const after = { dialect: input.dialect, baseUrl: input.baseUrl, accepted: found.problem === null };
        await recordTest(services, ctx.actor, "provider.check", after);
        return found;
      }),

    /** A catalog file with one provider, checked as the service checks it when it starts. */
    catalog: operatorProcedure
      .input(
        z.strictObject({
          /** The name of the upstream: 1 to 64 letters, digits, dots, hyphens and underscores. */
          name: z
            .string()
            .regex(/^[A-Za-z0-9._-]{1,64}$/, "must have only letters, digits, dots, hyphens and _"),
          dialect,
          baseUrl,
          /** The environment variable of the credential; `null`: the provider needs none. */
          credentialEnv: z
            .string()
            .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of an environment variable")
            .nullable(),
          /** The names of models at the provider: 1 to 100. */
          models: z.array(z.string().min(1).max(200)).min(1).max(100),
        }),
      )
      .query(async ({ input }) => {
        try {
          return {
            /** The catalog file, in YAML. */
            yaml: await writeProviderCatalog(input, DIALECTS),
          };
        } catch (error) {
          if (error instanceof CatalogError) throw new Failure("invalid_request", error.message);
          throw error;
        }
      }),
  });
}

/**
 * Lists the models of an upstream of the catalog with its credential, which shows whether it can be reached and accepts the credential. The
 * service sends one request and waits up to 10 seconds. The audit trail records the test.
 */
export function testUpstream(services: RpcServices) {
  return operatorProcedure
    .input(
      z.strictObject({
        /** The name of the upstream in the catalog. */
        name: z.string().min(1, "must not be empty").max(200),
      }),
    )
    .mutation(async ({ ctx, input: { name } }) => {
      const upstream = services.catalog.upstreams.get(name);
      if (upstream === undefined) {
        throw new Failure(
          "not_found",
          "The catalog has no such upstream. Look up their names in the catalog.",
          { param: "name" },
        );
      }
      const begin = performance.now();
      const { models, problem } = await checkUpstream(upstream, services.transport);
      const result = {
        /** What is wrong and what to do; `null`: the upstream answered. */
        problem,
        /** The number of models that it lists. Sandbox upstreams answer in process and list none. */
        models: models.length,
        /** How long it took, in milliseconds. */
        durationMs: Math.round(performance.now() - begin),
      };
      await recordTest(services, ctx.actor, "upstream.test", { upstream: name, accepted: problem === null });
      return result;
    });
}

function recordTest(
  { recordAction, now }: RpcServices,
  by: Actor,
  action: "provider.check" | "upstream.test",
  after: NewAction["after"],
): Promise<void> {
  return recordAction({ at: now(), by, accountId: null, action, reason: null, before: null, after });
}

async function checkUpstream(upstream: Upstream, transport: RpcServices["transport"]) {
  if (upstream.isSandbox) return { models: [], problem: null };
  const listing = dialect.safeParse(upstream.dialect);
  if (!listing.success || upstream.baseUrl === "") {
    throw new Failure(
      "invalid_request",
      `name: an upstream of the dialect ${upstream.dialect} cannot be tested. Send a request to one of its models instead.`,
      { param: "name" },
    );
  }
  const { baseUrl, credential } = upstream;
  return checkProvider({ dialect: listing.data, baseUrl, credential }, transport);
}
