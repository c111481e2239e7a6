import { isBrowser } from "./environment.ts";
import { OstiaryError } from "./errors.ts";

/** The version of this package. */
export const VERSION = "0.1.0";

/** The application that uses the client, for the operator's logs. */
export interface AppInfo {
  /** The name of the application. */
  readonly name: string;
  /** The version of the application. */
  readonly version?: string | undefined;
  /** Where to find out more about the application. */
  readonly url?: string | undefined;
}

/** The `User-Agent` header; `null` in browsers and apps, which send their own. @throws {OstiaryError} the application has no name. */
export function userAgentOf(appInfo: AppInfo | null | undefined): string | null {
  if (isBrowser()) return null;
  const product = `ostiary-node/${VERSION}`;
  if (appInfo == null) return product;
  const { name, version, url } = appInfo;
  if (!name) throw new OstiaryError("appInfo must have a name.");
  const app = version == null ? name : `${name}/${version}`;
  return `${product} (${url == null ? app : `${app}; ${url}`})`;
}
