import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { text } from "node:stream/consumers";
import { loadEnvironmentFile } from "../config/environment-file.ts";
import type { Findings } from "./findings.ts";

/** Longer than `/readyz` may take. */
const TIMEOUT_MS = 4_000;
const MAX_PORT = 65_535;
const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/**
 * Asks the service on this machine how it is, for supervisors that run a command. It reads only the settings that say where the
 * service listens, because it runs often.
 *
 * @param live asks only whether the process answers, not whether it is ready for requests.
 * @throws {ConfigError} when a file `.env` cannot be read.
 */
export async function checkHealth(
  environment: Readonly<Record<string, string | undefined>>,
  live: boolean,
): Promise<Findings> {
  loadEnvironmentFile(environment);
  const setting = (name: string, otherwise: string) => environment[name]?.trim() || otherwise;
  const listensOn = setting("HOST", "127.0.0.1");
  const port = Number(setting("PORT", "8080"));
  if (!(Number.isInteger(port) && port > 0 && port <= MAX_PORT)) {
    return { lines: [], problems: [`PORT: must be a whole number from 1 to ${MAX_PORT}`] };
  }
  const isSecure = setting("TLS_CERT_FILE", "") !== "";
  const host = EVERYWHERE[listensOn] ?? listensOn;
  const path = live ? "/healthz" : "/readyz";
  // The certificate is for the name that clients use, which this machine's own address is not.
  const options = { host, port, path, timeout: TIMEOUT_MS, rejectUnauthorized: false };
  try {
    const { status, body } = await answerTo(isSecure, options);
    return status === 200 ? { lines: [body], problems: [] } : { lines: [], problems: [`${status} ${body}`] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { lines: [], problems: [`The service does not answer on ${host} port ${port}: ${reason}`] };
  }
}

function answerTo(
  isSecure: boolean,
  options: { readonly host: string; readonly port: number; readonly timeout: number },
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const request = (isSecure ? requestHttps : requestHttp)(options, (response) => {
      const status = response.statusCode ?? 0;
      text(response).then((body) => resolve({ status, body }), reject);
    });
    request.on("timeout", () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
    request.on("error", reject);
    request.end();
  });
}
