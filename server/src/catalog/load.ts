import type { Document } from "yaml";
import { messageOf } from "../errors/issue-message.ts";
import { codeOf } from "../errors/system-errors.ts";
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

export interface CatalogSource {
  readonly path: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => Promise<string>;
  readonly dialects: readonly DialectSettings[];
  readonly now: () => Date;
}

/**
 * Reads a catalog file, YAML or JSON (which is YAML), and the credentials that it names.
 *
 * @throws {CatalogError} with all problems of the file.
 */
export async function loadCatalog(source: CatalogSource): Promise<Catalog> {
  let text: string;
  try {
    text = await source.readFile(source.path);
  } catch (error) {
    const reason = codeOf(error) === "ENOENT" ? "the file does not exist" : "it cannot be read";
    throw new CatalogError([`OSTIARY_CATALOG: ${source.path}: ${reason}`]);
  }
  const file = await parseFile(source, text);
  const problems = [...nameProblems(file), ...routeProblems(file)];
  const upstreams: Upstream[] = [];
  for (const [name, entry] of Object.entries(file.upstreams)) {
    const dialect = source.dialects.find((one) => one.name === entry.dialect);
    if (dialect === undefined) continue;
    const credential = await readCredential(entry, source);
    if (typeof credential === "string") problems.push(`upstreams.${name}.${credential}`);
    else upstreams.push(upstreamOf(name, entry, dialect, credential));
  }
  if (problems.length > 0) throw new CatalogError(problems.map((problem) => `${source.path}: ${problem}`));
  const created = Math.floor(source.now().getTime() / 1000);
  const simulated = new Set(upstreams.filter(({ isSandbox }) => isSandbox).map(({ name }) => name));
  return catalogOf(
    file.models.map((model) => modelOf(model, simulated, created)),
    upstreams,
  );
}

async function parseFile({ path, dialects }: CatalogSource, text: string): Promise<CatalogFile> {
  // A service without a catalog file does not load the parser.
  const { parseDocument } = await import("./yaml.ts");
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0) {
    throw new CatalogError(document.errors.map((error) => `${path}: ${error.message.split("\n", 1)[0]}`));
  }
  const parsed = catalogFileOf(dialects).safeParse(contentOf(path, document));
  // The settings that the catalog knows are of one type in all dialects.
  if (parsed.success) return parsed.data as CatalogFile;
  throw new CatalogError(
    parsed.error.issues.map((issue) => `${path}: ${pathText(issue.path)}${messageOf(issue)}`),
  );
}

/** Converts the document. Errors of aliases appear only here. */
function contentOf(path: string, document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new CatalogError([
      `${path}: ${error instanceof Error ? error.message.split("\n", 1)[0] : "is no YAML"}`,
    ]);
  }
}

/** `models[2].routes[0].upstream: ` */
function pathText(parts: readonly PropertyKey[]): string {
  const path = parts.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return path === "" ? "" : `${path.replace(/^\./, "")}: `;
}

function nameProblems(file: CatalogFile): string[] {
  const problems: string[] = [];
  const taken = new Set<string>();
  const take = (name: string, path: string) => {
    if (taken.has(name)) problems.push(`${path}: "${name}" already names another model`);
    taken.add(name);
  };
  for (const [index, model] of file.models.entries()) {
    take(model.id, `models[${index}].id`);
    for (const [at, alias] of model.aliases.entries()) take(alias, `models[${index}].aliases[${at}]`);
  }
  return problems;
}

function routeProblems(file: CatalogFile): string[] {
  return file.models.flatMap((model, index) =>
    model.routes.flatMap((route, at) =>
      Object.hasOwn(file.upstreams, route.upstream)
        ? []
        : [`models[${index}].routes[${at}].upstream: there is no upstream "${route.upstream}"`],
    ),
  );
}

/** @returns the credential, `null` for none, or a problem as text, which never contains the value. */
async function readCredential(
  upstream: UpstreamEntry,
  source: CatalogSource,
): Promise<Credential | null | string> {
  const { credentialEnv, credentialFile } = upstream;
  if (credentialEnv !== undefined && credentialFile !== undefined) {
    return "credentialFile: give credentialEnv or credentialFile, not both";
  }
  if (credentialEnv !== undefined) {
    // Not the name of a member that every object has, such as `constructor`.
    const isSet = Object.hasOwn(source.environment, credentialEnv);
    const value = (isSet ? source.environment[credentialEnv]?.trim() : undefined) ?? "";
    return value === ""
      ? `credentialEnv: ${variableForMessage(credentialEnv)} is not set`
      : checked(value, "credentialEnv");
  }
  if (credentialFile === undefined) return null;
  try {
    const value = (await source.readFile(credentialFile)).trim();
    return value === ""
      ? `credentialFile: ${fileForMessage(credentialFile)} is empty`
      : checked(value, "credentialFile");
  } catch {
    return `credentialFile: ${fileForMessage(credentialFile)} cannot be read`;
  }
}

/** A value that is not valid in a header would fail every request, with a message that might quote it. */
function checked(value: string, field: string): Credential | string {
  return /^[\x21-\x7e]+$/.test(value)
    ? new Credential(value)
    : `${field}: its value is not valid in an HTTP header`;
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
