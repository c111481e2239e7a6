import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeCatalog } from "../../fixtures/catalog.ts";
import { freePort } from "../../fixtures/free-port.ts";
import { startRedis } from "../../fixtures/redis.ts";
import { commandOf, type Service, type ServiceOptions, startService } from "../../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../../fixtures/user.ts";
import { startPostgres } from "./postgres.ts";
import { exists, find, findPostgres, run, TOOLS } from "./tools.ts";

const PORTKEY = "1.15.2";
const LITELLM = "1.106.0";
const BARE_PROXY = fileURLToPath(new URL("bare-proxy.ts", import.meta.url));
const START_TIMEOUT_MS = 120_000;
/** How much of what a contestant said is told when it does not start. */
const SHOWN_CHARACTERS = 2_000;
/** As `npm start`, the image and the unit of systemd start it. */
export const AS_STARTED = [
  process.execPath,
  "--max-semi-space-size=32",
  "--heap-growing-percent=400",
  "server/dist/main.js",
] as const;
/** As `npm run start:deno` starts it. */
const AS_STARTED_ON_DENO = withV8Flags(commandOf("deno"));

function withV8Flags([deno, run, ...args]: readonly string[]) {
  if (deno === undefined || run === undefined) throw new Error("the command for Deno is empty");
  return [deno, run, "--v8-flags=--max-semi-space-size=32,--heap-growing-percent=400", ...args] as const;
}

/** Something between a client and a model, that is measured. */
export interface Contestant extends AsyncDisposable {
  readonly name: string;
  /** The address of its chat completions. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Its processes, and those of stores that it does not start itself. */
  pids(): number[];
}

/** How to start a contestant before `models`, the origin of the model server. @throws when it can't be had here. */
export type Start = (models: string) => Promise<Contestant>;

export const CONTESTANTS: Readonly<Record<string, Start>> = {
  nginx: startNginxProxy,
  "bare undici proxy": startBareProxy,
  "Ostiary, Node, embedded": (models) => startOstiary("Ostiary, Node, embedded", models, {}),
  "Ostiary, Node, PostgreSQL + Redis": (models) =>
    startOstiaryOnStores("Ostiary, Node, PostgreSQL + Redis", models),
  "Ostiary, Deno, embedded": (models) =>
    startOstiary("Ostiary, Deno, embedded", models, { command: AS_STARTED_ON_DENO }),
  [`Portkey ${PORTKEY}`]: startPortkey,
  [`LiteLLM ${LITELLM}`]: startLiteLlm,
};

/** A model server that answers every request with the same 670 bytes, as cheaply as can be. */
export async function startModels(): Promise<{ readonly origin: string } & AsyncDisposable> {
  const answer = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "inner",
    choices: [{ index: 0, message: { role: "assistant", content: "x".repeat(400) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
  });
  const nginx = await startNginx(`location / { default_type application/json; return 200 '${answer}'; }`);
  return { origin: nginx.origin, [Symbol.asyncDispose]: nginx[Symbol.asyncDispose] };
}

const requestOf = (model: string) => JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] });

async function startNginxProxy(models: string): Promise<Contestant> {
  const { host } = new URL(models);
  const upstream = `upstream models { server ${host}; keepalive 128; keepalive_requests 100000000; }`;
  const location = `location / { proxy_pass http://models; proxy_http_version 1.1; proxy_set_header Connection ""; }`;
  const nginx = await startNginx(location, upstream);
  return {
    name: "nginx",
    url: `${nginx.origin}/v1/chat/completions`,
    headers: {},
    body: requestOf("inner"),
    pids: () => [nginx.pid],
    [Symbol.asyncDispose]: nginx[Symbol.asyncDispose],
  };
}

async function startNginx(location: string, more = "") {
  const program = await find("nginx");
  if (program === null) throw new Error("needs nginx: apt-get install nginx-light");
  const folder = await mkdtemp(join(tmpdir(), "ostiary-nginx-"));
  const port = await freePort();
  const settings = `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr error; user root;
    events { worker_connections 30000; }
    http { access_log off; keepalive_requests 100000000; keepalive_timeout 600s; client_body_temp_path ${folder}/body;
      proxy_temp_path ${folder}/proxy; ${more} server { listen 127.0.0.1:${port} backlog=4096; ${location} } }`;
  await writeFile(
    join(folder, "nginx.conf"),
    process.getuid?.() === 0 ? settings : settings.replace("user root;", ""),
  );
  const child = spawn(program, ["-p", folder, "-c", join(folder, "nginx.conf")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const origin = `http://127.0.0.1:${port}`;
  await answering(origin, child);
  return { origin, pid: pidOf(child), [Symbol.asyncDispose]: () => end(child, folder) };
}

async function startBareProxy(models: string): Promise<Contestant> {
  const child = fork(BARE_PROXY, [models], { execArgv: ["--import", "tsx"] });
  const [port] = await once(child, "message");
  return {
    name: "bare undici proxy",
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    headers: {},
    body: requestOf("inner"),
    pids: () => [pidOf(child)],
    [Symbol.asyncDispose]: () => end(child),
  };
}

export interface OstiaryContestant extends Contestant {
  readonly service: Service;
  /** The owner of the account whose key is used. */
  readonly owner: Owner & { readonly key: string };
  readonly catalogFile: string;
}

/** The service as operators run it, with its own defaults and a plan without limits on the rate. Its stores are its own, or those given here. */
export async function startOstiary(
  name: string,
  models: string,
  { prepare, ...options }: ServiceOptions & { readonly prepare?: (service: Service) => Promise<void> },
): Promise<OstiaryContestant> {
  const catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl: `${models}/v1`, maxConcurrency: 20_000 } },
    models: [
      {
        id: "acme/inner",
        contextTokens: 8_192,
        maxOutputTokens: 100,
        // A new account's credit pays for an hour of requests.
        prices: { inputUsdPerMTok: "0.001", outputUsdPerMTok: "0.001" },
        routes: [{ upstream: "main", model: "inner" }],
      },
    ],
  });
  const stores = { DATABASE_URL: options.databaseUrl, REDIS_URL: undefined };
  const env = { ...stores, OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "error", ...options.env };
  const service = await startService({ command: AS_STARTED, ...options, env });
  await prepare?.(service);
  const owner = await signUpWithKey(service.baseUrl);
  return {
    name,
    service,
    owner,
    catalogFile: catalog.file,
    url: `${service.baseUrl}/v1/chat/completions`,
    headers: { authorization: `Bearer ${owner.key}` },
    body: requestOf("acme/inner"),
    pids: () => [service.pid],
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

async function startOstiaryOnStores(name: string, models: string): Promise<Contestant> {
  if ((await find("redis-server")) === null) throw new Error("needs Redis: apt-get install redis-server");
  const programs = await findPostgres();
  if (programs === null) throw new Error("needs PostgreSQL: apt-get install postgresql");
  const postgres = await startPostgres(programs);
  const redis = await startRedis();
  const env = { REDIS_URL: redis.url, OSTIARY_REDIS_PREFIX: "bench" };
  const service = await startOstiary(name, models, { databaseUrl: postgres.url, env });
  return {
    ...service,
    pids: () => [...service.pids(), postgres.pid, redis.pid],
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
      await postgres[Symbol.asyncDispose]();
    },
  };
}

async function startPortkey(models: string): Promise<Contestant> {
  const folder = join(TOOLS, `portkey-${PORTKEY}`);
  const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (!(await exists(program))) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), "{}");
    await run("npm", [
      "install",
      "--prefix",
      folder,
      "--no-audit",
      "--no-fund",
      `@portkey-ai/gateway@${PORTKEY}`,
    ]);
  }
  // It listens on all addresses, on some of which the port of an earlier load's connection may still be closing.
  const port = await freePort("::");
  const child = spawn(process.execPath, [program, `--port=${port}`, "--headless"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const origin = `http://127.0.0.1:${port}`;
  await answering(origin, child);
  return {
    name: `Portkey ${PORTKEY}`,
    url: `${origin}/v1/chat/completions`,
    headers: {
      authorization: "Bearer none",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `${models}/v1`,
    },
    body: requestOf("inner"),
    pids: () => [pidOf(child)],
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function startLiteLlm(models: string): Promise<Contestant> {
  const folder = join(TOOLS, `litellm-${LITELLM}`);
  const program = join(folder, "bin/litellm");
  if (!(await exists(program))) {
    await run("python3", ["-m", "venv", folder]);
    await run(join(folder, "bin/pip"), ["install", "--quiet", `litellm[proxy]==${LITELLM}`]);
  }
  const settings = join(folder, "config.yaml");
  const model = { model: "openai/inner", api_base: `${models}/v1`, api_key: "none" };
  await writeFile(
    settings,
    JSON.stringify({
      model_list: [{ model_name: "inner", litellm_params: model }],
      general_settings: { master_key: "sk-bench" },
    }),
  );
  const port = await freePort();
  const child = spawn(program, ["--config", settings, "--host", "127.0.0.1", "--port", String(port)], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, LITELLM_LOG: "ERROR", LITELLM_LOCAL_MODEL_COST_MAP: "True" },
  });
  const origin = `http://127.0.0.1:${port}`;
  await answering(`${origin}/health/liveliness`, child);
  return {
    name: `LiteLLM ${LITELLM}`,
    url: `${origin}/v1/chat/completions`,
    headers: { authorization: "Bearer sk-bench" },
    body: requestOf("inner"),
    pids: () => [pidOf(child)],
    [Symbol.asyncDispose]: () => end(child),
  };
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error("the process did not start");
  return child.pid;
}

/** Resolves when something answers at the address. @throws when the process has exited or does not answer in time. */
async function answering(url: string, child: ChildProcess): Promise<void> {
  const endMs = performance.now() + START_TIMEOUT_MS;
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(-SHOWN_CHARACTERS);
  });
  while (performance.now() < endMs) {
    if (child.exitCode !== null) throw new Error(`exited with ${child.exitCode}: ${said}`);
    const response = await fetch(url).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`does not answer at ${url}`);
}

async function end(child: ChildProcess, folder?: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await once(child, "exit");
    clearTimeout(timer);
  }
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
