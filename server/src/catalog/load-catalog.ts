import { messageOf } from "../errors/issue-message.ts";
import { fileReasonOf } from "../errors/system-errors.ts";
import { fileForMessage, variableForMessage } from "../secrets/named-elsewhere.ts";
import {
  type Catalog,
  type CatalogModel,
  catalogOf,
  DEFAULT_BREAKER,
  DEFAULT_MAX_CONCURRENCY,
  DEFAULT_TIMEOUTS,
  type Upstream,
} from "./catalog.ts";
import { type CatalogFile, catalogFileOf, type DialectSettings, type UpstreamEntry } from "./catalog-file.ts";
import { CATALOG_PARSER, type CatalogParser, type Place, type Problem } from "./catalog-text.ts";
import { Credential } from "./credential.ts";
import { type ModelPrices, withDefaultPrices } from "./prices.ts";

/** All problems of a catalog file, one line each, with their positions. */
export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** The catalog file can't be read, so nothing is known of its content. */
export class UnreadableCatalog extends CatalogError {}

export interface CatalogSource {
  readonly path: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => Promise<string>;
  readonly dialects: readonly DialectSettings[];
  readonly now: () => Date;
  /** By default, the text is parsed on the thread of the caller. */
  readonly parser?: CatalogParser;
}

/**
 * Reads a catalog file, YAML or JSON (which is YAML), and the credentials that it names.
 *
 * @throws {UnreadableCatalog}
 * @throws {CatalogError} with all problems of the file.
 */
export async function loadCatalog(source: CatalogSource): Promise<Catalog> {
  let text: string;
  try {
    text = await source.readFile(source.path);
  } catch (error) {
    throw new UnreadableCatalog([
      `OSTIARY_CATALOG: the file ${source.path} cannot be read: ${fileReasonOf(error)}`,
    ]);
  }
  const { path, parser = CATALOG_PARSER } = source;
  const { content, faults } = await parser.parse(path, text);
  if (faults.length > 0) throw new CatalogError(faults);
  const file = shapeOf(content, source.dialects);
  if (!("models" in file)) throw new CatalogError(await parser.describe(path, text, file));
  const problems = [...nameProblems(file), ...routeProblems(file)];
  const upstreams: Upstream[] = [];
  for (const [name, entry] of Object.entries(file.upstreams)) {
    const dialect = source.dialects.find((one) => one.name === entry.dialect);
    if (dialect === undefined) continue;
    const credential = await readCredential(entry, source);
    if (credential !== null && "problem" in credential) {
      problems.push({ place: ["upstreams", name, credential.field], message: credential.problem });
    } else upstreams.push(upstreamOf(name, entry, dialect, credential));
  }
  if (problems.length > 0) throw new CatalogError(await parser.describe(path, text, problems));
  const created = Math.floor(source.now().getTime() / 1000);
  const simulated = new Set(upstreams.filter(({ isSandbox }) => isSandbox).map(({ name }) => name));
  return catalogOf(
    file.models.map((model) => modelOf(model, simulated, created)),
    upstreams,
  );
}

/** @returns the file, or the problems of its shape. */
function shapeOf(content: unknown, dialects: readonly DialectSettings[]): CatalogFile | readonly Problem[] {
  const parsed = catalogFileOf(dialects).safeParse(content);
  // The settings that the catalog knows are of one type in all dialects.
  if (parsed.success) return parsed.data as CatalogFile;
  return parsed.error.issues.map((issue) => ({
    place: issue.path,
    ...(issue.code === "unrecognized_keys" ? { shown: [...issue.path, ...issue.keys.slice(0, 1)] } : {}),
    message: messageOf(issue),
  }));
}

function nameProblems(file: CatalogFile): Problem[] {
  const problems: Problem[] = [];
  const taken = new Set<string>();
  const take = (name: string, place: Place) => {
    if (taken.has(name)) problems.push({ place, message: `"${name}" already names another model` });
    taken.add(name);
  };
  for (const [index, model] of file.models.entries()) {
    take(model.id, ["models", index, "id"]);
    for (const [at, alias] of model.aliases.entries()) take(alias, ["models", index, "aliases", at]);
  }
  return problems;
}

function routeProblems(file: CatalogFile): Problem[] {
  const names = Object.keys(file.upstreams).join(", ") || "none";
  return file.models.flatMap((model, index) =>
    model.routes.flatMap(({ upstream }, at) =>
      Object.hasOwn(file.upstreams, upstream)
        ? []
        : [
            {
              place: ["models", index, "routes", at, "upstream"],
              message: `there is no upstream "${upstream}". The file has: ${names}`,
            },
          ],
    ),
  );
}

/** Why a credential can't be used, without its value. */
interface CredentialProblem {
  readonly field: "credentialEnv" | "credentialFile";
  readonly problem: string;
}

/** @returns the credential, or `null` for none. */
async function readCredential(
  upstream: UpstreamEntry,
  source: CatalogSource,
): Promise<Credential | null | CredentialProblem> {
  const { credentialEnv, credentialFile } = upstream;
  if (credentialEnv !== undefined && credentialFile !== undefined) {
    return { field: "credentialFile", problem: "give credentialEnv or credentialFile, not both" };
  }
  if (credentialEnv !== undefined) {
    // Not the name of a member that every object has, such as `constructor`.
    const isSet = Object.hasOwn(source.environment, credentialEnv);
    const value = (isSet ? source.environment[credentialEnv]?.trim() : undefined) ?? "";
    if (value !== "") return checked(value, "credentialEnv");
    return { field: "credentialEnv", problem: `${variableForMessage(credentialEnv)} is not set` };
  }
  if (credentialFile === undefined) return null;
  const file = fileForMessage(credentialFile);
  try {
    const value = (await source.readFile(credentialFile)).trim();
    if (value !== "") return checked(value, "credentialFile");
    return { field: "credentialFile", problem: `${file} is empty` };
  } catch (error) {
    return { field: "credentialFile", problem: `${file} cannot be read: ${fileReasonOf(error)}` };
  }
}

/** No server accepts longer headers. Signed tokens have some thousand characters. */
const MAX_CREDENTIAL_LENGTH = 16_384;

/** A value that is not valid in a header would fail every request, with a message that might quote it. */
function checked(value: string, field: CredentialProblem["field"]): Credential | CredentialProblem {
  if (value.length > MAX_CREDENTIAL_LENGTH) {
    const problem = `its value has ${value.length} characters, and a credential has ${MAX_CREDENTIAL_LENGTH} at most. It must be the credential alone`;
    return { field, problem };
  }
  if (/^[\x21-\x7e]+$/.test(value)) return new Credential(value);
  return {
    field,
    problem:
      'its value has spaces or other characters that it cannot have in an HTTP header. It must be the credential alone, without "Bearer"',
  };
}

function upstreamOf(
  name: string,
  entry: UpstreamEntry,
  { fixed, isSandbox = false }: DialectSettings,
  credential: Credential | null,
): Upstream {
  const {
    dialect,
    baseUrl = "",
    timeouts = DEFAULT_TIMEOUTS,
    maxConcurrency = DEFAULT_MAX_CONCURRENCY,
    breaker = DEFAULT_BREAKER,
    credentialEnv: _,
    credentialFile: __,
    ...settings
  } = entry;
  const limits = { timeouts, maxConcurrency, breaker };
  return { name, dialect, settings, isSandbox, baseUrl, credential, ...limits, ...fixed };
}

/** @param simulated The names of the sandbox's upstreams. */
function modelOf(
  { contextTokens, maxOutputTokens, prices, routes, ...model }: CatalogFile["models"][number],
  simulated: ReadonlySet<string>,
  created: number,
): CatalogModel {
  return {
    ...model,
    created,
    sandbox: routes.every((route) => simulated.has(route.upstream)),
    contextTokens: contextTokens ?? null,
    maxOutputTokens: maxOutputTokens ?? null,
    prices: prices === undefined ? null : pricesOf(prices),
    routes: routes.map((route) => ({ ...route, model: route.model ?? model.id })),
  };
}

function pricesOf(prices: NonNullable<CatalogFile["models"][number]["prices"]>): ModelPrices {
  return withDefaultPrices({
    inputNanoUsdPerMTok: prices.inputUsdPerMTok,
    cachedInputNanoUsdPerMTok: prices.cachedInputUsdPerMTok,
    cacheWriteNanoUsdPerMTok: prices.cacheWriteUsdPerMTok,
    cacheWrite1hNanoUsdPerMTok: prices.cacheWrite1hUsdPerMTok,
    audioInputNanoUsdPerMTok: prices.audioInputUsdPerMTok,
    imageInputNanoUsdPerMTok: prices.imageInputUsdPerMTok,
    outputNanoUsdPerMTok: prices.outputUsdPerMTok,
    reasoningNanoUsdPerMTok: prices.reasoningUsdPerMTok,
    audioOutputNanoUsdPerMTok: prices.audioOutputUsdPerMTok,
    imageOutputNanoUsdPerMTok: prices.imageOutputUsdPerMTok,
    imageNanoUsd: prices.imageUsd,
  });
}
