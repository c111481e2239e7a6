import { modalitiesByName, TEXT_ONLY } from "./catalog.ts";
import type { DialectSettings } from "./catalog-file.ts";
import { loadCatalog } from "./load-catalog.ts";

/** A provider, as a catalog file describes it. */
interface ProviderEntry {
  /** The name of the upstream. */
  readonly name: string;
  readonly dialect: string;
  readonly baseUrl: string;
  /** The environment variable of the credential; `null`: the provider needs none. */
  readonly credentialEnv: string | null;
  /** The names of models at the provider. */
  readonly models: readonly string[];
}

/**
 * Writes a catalog file with one upstream and its models.
 *
 * @throws {CatalogError} when the catalog would not load, with all problems.
 */
export async function writeProviderCatalog(
  { name, dialect, baseUrl, credentialEnv, models }: ProviderEntry,
  dialects: readonly DialectSettings[],
): Promise<string> {
  const { stringify } = await import("./yaml.ts");
  const content = {
    upstreams: { [name]: { dialect, baseUrl, ...(credentialEnv === null ? {} : { credentialEnv }) } },
    models: models.map((model) => ({
      id: `${name}/${model}`,
      ownedBy: name,
      ...(modalitiesByName(model) === TEXT_ONLY ? {} : { modalities: modalitiesByName(model) }),
      routes: [{ upstream: name, model }],
    })),
  };
  const text = `# Add prices to charge for these models: see the catalog's reference.\n${stringify(content)}`;
  await loadCatalog({
    path: "catalog.yaml",
    environment: credentialEnv === null ? {} : { [credentialEnv]: "set-where-the-service-runs" },
    readFile: async () => text,
    dialects,
    now: () => new Date(),
  });
  return text;
}
