// The notices that licenses ask for when a bundle contains copies of packages.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const LINE = "-".repeat(80);
/** The MIT license, for packages that name it and have no file with its text. */
const mitLicense = (holder) => `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
/** Licenses that ask for no notice. */
const PUBLIC_DOMAIN = ["Unlicense", "CC0-1.0", "0BSD"];

/**
 * The license of each package of which a bundle has files.
 *
 * @param product what contains them, as the beginning of a sentence.
 * @param inputs the paths of the bundle's source files in the repository.
 */
export function thirdPartyNotices(product, inputs) {
  const folders = new Set(
    inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  const notices = [...folders].sort().map((folder) => noticeOf(join(root, folder)));
  return `${[`${product} contains the following software.`, ...notices].join(`\n\n${LINE}\n\n`)}\n`;
}

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const heading = `${name} ${version} (${license})`;
  const text = licenseIn(folder);
  if (text !== null) return `${heading}\n\n${text}`;
  if (PUBLIC_DOMAIN.includes(license)) return heading;
  const holder = typeof author === "string" ? author : author?.name;
  if (license === "MIT" && holder !== undefined) return `${heading}\n\n${mitLicense(holder)}`;
  throw new Error(`${name} has no license file, so it must not be bundled.`);
}

function licenseIn(folder) {
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.|-|$)/i.test(entry));
  return file === undefined ? null : readFileSync(join(folder, file), "utf8").trim();
}
