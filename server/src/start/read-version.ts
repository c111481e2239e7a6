import { readFile } from "node:fs/promises";

/** Returns the version of the service. @param manifest its `package.json`. */
export async function readVersion(manifest: URL): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(manifest, "utf8"));
  return version;
}
