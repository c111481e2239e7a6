// Makes dashboard-ui/src/styles/fonts/inter.woff2: the font of the dashboard with the characters, the weights and the
// features that its pages use, which is half of what the whole font takes. Run it after an update of the font or a change
// of what is kept, and commit the file:
//
//   npm install --no-save subset-font@2.9.0 && node scripts/subset-font.mjs
//
// Characters that it omits come from the second file of styles/fonts.css, or from the system's fonts.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const SOURCE = "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2";
const TARGET = new URL("../dashboard-ui/src/styles/fonts/inter.woff2", import.meta.url);

/** The characters, as in the `unicode-range` of styles/fonts.css. */
const RANGES = [
  [0x20, 0x7e],
  [0xa0, 0xff],
  [0x152, 0x153],
  [0x2010, 0x2027],
  [0x202f, 0x202f],
  [0x2030, 0x2030],
  [0x2032, 0x2033],
  [0x2039, 0x203a],
  [0x20ac, 0x20ac],
  [0x2122, 0x2122],
  [0x2190, 0x2193],
  [0x2212, 0x2212],
  [0x2215, 0x2215],
  [0x2248, 0x2248],
  [0x2264, 0x2265],
];
/** From `--weight-normal` to `--weight-bold`. */
const WEIGHTS = { min: 400, max: 600 };
/** Kerning, accents, and digits of one width for tables. */
const FEATURES = ["kern", "mark", "mkmk", "ccmp", "tnum"];

const { default: subsetFont } = await import("subset-font");
const text = RANGES.map(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)).join(""),
).join("");
const source = readFileSync(createRequire(import.meta.url).resolve(SOURCE));
const font = await subsetFont(source, text, {
  targetFormat: "woff2",
  variationAxes: { wght: WEIGHTS },
  keepFeatures: FEATURES,
});
writeFileSync(fileURLToPath(TARGET), font);
