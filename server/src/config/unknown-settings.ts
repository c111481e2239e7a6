import { closestMatch } from "leven";
import { fileVariableOf } from "./secret-files.ts";
import { SETTING_NAMES } from "./settings.ts";

const PREFIX = "OSTIARY_";
const MAX_TYPING_ERRORS = 3;
/** A name may have one typing error for each of this many letters, not counting its prefix. Names with more are not taken for misspelt. */
const LETTERS_PER_TYPING_ERROR = 3;

/**
 * Settings without the prefix whose misspelt names would be noticed late: the service would use the bundled database, or believe no proxy. Their
 * names may have a typing error for each of this many letters: variables of other programs have similar names, such as DATABASE_USER.
 */
const COMMON_SETTINGS = [
  ...["DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE"],
  ...["TRUSTED_PROXIES", "AUDIT_DURABILITY", "TLS_CERT_FILE", "TLS_KEY_FILE"],
];
const COMMON_LETTERS_PER_TYPING_ERROR = 5;

/** Variables of the SDK and of the operator's command line, which may be set in the same environment. */
const CLIENT_VARIABLES = new Set([
  "OSTIARY_API_KEY",
  "OSTIARY_BASE_URL",
  "OSTIARY_MANAGEMENT_TOKEN",
  fileVariableOf("OSTIARY_MANAGEMENT_TOKEN"),
]);

/** The setting of {@link COMMON_SETTINGS} whose name this seems to be. */
function commonSettingLike(name: string): string | undefined {
  return COMMON_SETTINGS.find((setting) => {
    const maxDistance = Math.floor(setting.length / COMMON_LETTERS_PER_TYPING_ERROR);
    return closestMatch(name, [setting], { maxDistance }) !== undefined;
  });
}

/**
 * A line for each variable that looks like a setting but is not one, with the closest setting, in the order
 * of the names: Deno lists the environment in another order in each process.
 */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const names = Object.keys(environment).sort();
  return names.flatMap((name) => {
    if (SETTING_NAMES.includes(name) || CLIENT_VARIABLES.has(name)) return [];
    if (!name.startsWith(PREFIX)) {
      const near = commonSettingLike(name);
      if (near === undefined || (environment[near] ?? "") !== "") return [];
      return [`${name}: is not a setting of this service. Did you mean ${near}?`];
    }
    const bare = name.slice(PREFIX.length);
    // Some settings have the names that they have everywhere, such as PORT and DATABASE_URL.
    const maxDistance = Math.min(MAX_TYPING_ERRORS, Math.floor(bare.length / LETTERS_PER_TYPING_ERROR));
    const meant = SETTING_NAMES.includes(bare) ? bare : closestMatch(name, SETTING_NAMES, { maxDistance });
    return [
      meant === undefined
        ? `${name}: is not a setting of this service`
        : `${name}: is not a setting of this service. Did you mean ${meant}?`,
    ];
  });
}
