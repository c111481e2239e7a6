// Checks the SDK as it would be published: packed, linted by what publishers use, and type-checked by each TypeScript that
// its users may have, in an empty strict project that looks into libraries.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SDK = join(ROOT, "sdk");
const PACKAGE = JSON.parse(readFileSync(join(SDK, "package.json"), "utf8"));
const TYPESCRIPTS = ["5.9.3", "6.0.3", "7.0.2"];
/** The way of finding modules that CommonJS projects had by default up to TypeScript 5. It reads no `exports`. */
const NODE10 = { "5.9.3": { module: "CommonJS", moduleResolution: "node10" } };
const COMPILER_OPTIONS = {
  module: "NodeNext",
  target: "ES2022",
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: false,
};
const bin = (name) => join(ROOT, "test/node_modules/.bin", name);
const run = (file, args, cwd = SDK) =>
  execFileSync(file, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });

/** Every part of the package, and every error narrowed. */
const USE = `
import Ostiary, * as ostiary from "ostiary";
import { OstiaryOperator } from "ostiary/operator";

const client = new Ostiary({ apiKey: "sk-x", logLevel: "off" });
export const operator = new OstiaryOperator({ managementToken: "mt-x" });

export async function use(): Promise<void> {
  const messages = [{ role: "user", content: "hi" }] as const;
  const whole: ostiary.ChatCompletion = await client.chat.completions.create({ model: "m", messages });
  for await (const chunk of await client.chat.completions.create({ model: "m", messages, stream: true })) {
    const text: string | null | undefined = chunk.choices[0]?.delta.content;
    console.log(text, whole.id);
  }
  const message = await client.chat.completions
    .stream({ model: "m", messages })
    .on("content", (delta: string) => console.log(delta))
    .finalMessage();
  const { data, requestId } = await client.embeddings.create({ model: "m", input: "x" }).withResponse();
  const lines: AsyncIterable<string> = client.audit.export({ format: "csv" });
  const created: ostiary.CreatedKey = await client.keys.create({ name: "n" });
  const money: string = (await client.credits.balance()).balanceNanoUsd;
  console.log(message.content, data.data.length, requestId, lines, created.createdAt.getTime(), money);
}

export function tell(error: unknown): string {
  if (error instanceof ostiary.RateLimitError) return \`wait \${error.retryAfterMs ?? 0} of \${error.limit ?? 0}\`;
  if (error instanceof ostiary.PermissionDeniedError && error.reason === "ip_blocked") return "from elsewhere";
  if (error instanceof ostiary.AuthenticationError && error.code === "revoked_api_key") return "revoked";
  if (error instanceof ostiary.StreamInterruptedError) return error.requestId ?? "";
  if (error instanceof ostiary.APIError) return \`\${error.status} \${error.code ?? ""}\`;
  return error instanceof ostiary.OstiaryError ? error.message : "";
}
`;

/** With tRPC's own client, whose declarations need the standard library's newest names. */
const USE_TRPC = `
import { createTRPCClient } from "@trpc/client";
import { type AppRouter, ostiaryLink, type RouterInputs } from "ostiary/trpc";

const trpc = createTRPCClient<AppRouter>({ links: [ostiaryLink({ managementToken: "mt-x" })] });
const rotation: RouterInputs["keys"]["rotate"] = { id: "x" };
export const successor: Promise<{ readonly key: string; readonly createdAt: Date }> = trpc.keys.rotate.mutate(rotation);
`;

const folder = mkdtempSync(join(tmpdir(), "ostiary-package-"));
try {
  run(process.execPath, [join(ROOT, "scripts/build.mjs"), "--if-stale"]);
  run("npm", ["pack", "--silent", "--pack-destination", folder]);
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");

  process.stdout.write("· publint\n");
  run(bin("publint"), [".", "--strict"]);
  process.stdout.write("· are the types wrong?\n");
  // Node 10 itself knew no entries beside the first. For their types, see NODE10.
  run(bin("attw"), [tarball, "--profile", "node16", "--format", "ascii", "--no-color", "--no-emoji"]);
  process.stdout.write("· JSR\n");
  run(bin("deno"), ["publish", "--dry-run", "--allow-dirty", "--quiet"]);

  // All compilers see one installation, so that npm installs twice and not twice for each of them.
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
  const install = (...packages) => {
    const quietly = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
    run("npm", ["install", ...quietly, ...packages], project);
  };
  const check = (version, program, lib) => {
    for (const others of [{}, NODE10[version] ?? []].flat()) {
      const compilerOptions = { ...COMPILER_OPTIONS, ...others, lib };
      writeFileSync(join(project, "use.ts"), program);
      writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
      run(join(project, "node_modules", nameOf(version), "bin/tsc"), ["-p", "."], project);
    }
  };
  // The newest has its own name, as it is what tRPC needs for itself.
  const nameOf = (version) => (version === TYPESCRIPTS.at(-1) ? "typescript" : `typescript-${version}`);
  install(tarball, ...TYPESCRIPTS.map((version) => `${nameOf(version)}@npm:typescript@${version}`));
  for (const version of TYPESCRIPTS) {
    process.stdout.write(`· TypeScript ${version}\n`);
    check(version, USE, ["ES2023", "DOM", "DOM.Iterable"]);
  }
  install(...["@trpc/client", "@trpc/server"].map((name) => `${name}@${PACKAGE.devDependencies[name]}`));
  for (const version of TYPESCRIPTS) {
    process.stdout.write(`· TypeScript ${version} with tRPC\n`);
    check(version, USE_TRPC, ["ES2023", "DOM", "DOM.Iterable", "ESNext.Disposable"]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
