import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import {
  answerWhole,
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

/** With what JSON escapes, and what some servers escape besides. */
const CREDENTIAL = 'operators/credential"of\\40-characters';
const PLACEHOLDER = "ollama";

let answer: (request: ReceivedRequest) => void = answerWhole;
let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let owner: Awaited<ReturnType<typeof signUpWithKey>>;

beforeAll(async () => {
  upstream = await startModelServer((request) => answer(request));
  const { baseUrl } = upstream;
  catalog = await writeCatalog({
    upstreams: {
      openai: { dialect: "openai", baseUrl, credentialEnv: "HOSTILE", breaker: { failures: 1_000 } },
      anthropic: { dialect: "anthropic", baseUrl, credentialEnv: "HOSTILE", breaker: { failures: 1_000 } },
      local: { dialect: "openai", baseUrl, credentialEnv: "PLACEHOLDER" },
    },
    models: ["openai", "anthropic", "local"].map((name) => ({ id: name, routes: [{ upstream: name }] })),
  });
  service = await startService({
    env: { OSTIARY_CATALOG: catalog.file, HOSTILE: CREDENTIAL, PLACEHOLDER },
  });
  owner = await signUpWithKey(service.baseUrl);
});

afterEach(() => {
  answer = answerWhole;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
});

async function ask(model: string, fields: object = {}, path = "chat/completions"): Promise<string> {
  const response = await fetch(`${service.baseUrl}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      ...(path === "embeddings" ? { input: "hi" } : { messages: [{ role: "user", content: "hi" }] }),
      ...fields,
    }),
  });
  return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
}

function refuse(status: number, error: object): void {
  answer = ({ response }) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error }));
  };
}

/** Whether a client was shown the credential, in any spelling. */
function holdsCredential(told: string): boolean {
  const inJson = JSON.stringify(CREDENTIAL).slice(1, -1);
  return [CREDENTIAL, inJson, inJson.replaceAll("/", "\\/")].some((spelling) => told.includes(spelling));
}

const QUOTED = `Can't use Bearer ${CREDENTIAL} here`;

describe("an upstream that repeats the operator's credential", () => {
  it.each(["openai", "anthropic"])(
    "does not reveal it to a client of %s by refusing a request",
    async (model) => {
      for (const status of [400, 401, 404, 413, 422, 429, 500, 503]) {
        refuse(status, { message: QUOTED, param: CREDENTIAL, code: CREDENTIAL, type: CREDENTIAL });
        for (const fields of [{}, { stream: true }]) {
          const told = await ask(model, fields);
          expect(holdsCredential(told), told.slice(0, 3)).toBe(false);
        }
      }
      refuse(400, { message: QUOTED, code: "context_length_exceeded" });
      expect(holdsCredential(await ask(model))).toBe(false);
    },
  );

  it("still tells the client what is wrong with the request", async () => {
    refuse(400, { message: QUOTED, param: "messages" });
    expect(await ask("openai")).toContain("Can't use Bearer [credential] here");
  });

  it("reveals no part of it in a message or a field that is too long and cut within it", async () => {
    for (const shown of [10, 25, 39]) {
      const text = "x".repeat(1_000 - shown) + CREDENTIAL;
      refuse(400, { message: text, param: text });
      const told = await ask("openai");
      expect(told).toContain("[credential]");
      expect(told).not.toContain(CREDENTIAL.slice(0, 8));
    }
  });

  it("does not reveal it in the details of an error, also where the message is clean", async () => {
    for (const message of [QUOTED, "Too large."]) {
      for (const details of [{ hint: QUOTED }, { paths: [QUOTED] }, { [CREDENTIAL]: true }]) {
        refuse(400, { message, details: { error_code: "image_too_large", ...details } });
        for (const model of ["openai", "anthropic"]) {
          expect(holdsCredential(await ask(model, { max_tokens: 9 }, "messages"))).toBe(false);
        }
      }
    }
    refuse(400, { message: QUOTED, details: { error_code: "image_too_large" } });
    expect(await ask("anthropic", { max_tokens: 9 }, "messages")).toContain("image_too_large");
  });

  it("does not reveal it by refusing embeddings", async () => {
    refuse(400, { message: QUOTED });
    expect(holdsCredential(await ask("openai", {}, "embeddings"))).toBe(false);
  });

  it("does not reveal it in an answer, whole or streamed, however it is escaped", async () => {
    for (const escaped of [(text: string) => text, (text: string) => text.replaceAll("/", "\\/")]) {
      answer = ({ response }) => {
        const choices = [
          { index: 0, message: { role: "assistant", content: QUOTED }, finish_reason: "stop" },
        ];
        response.setHeader("content-type", "application/json");
        response.end(escaped(JSON.stringify({ id: "1", model: "m", choices, echo: QUOTED })));
      };
      const whole = await ask("openai");
      expect(whole).toContain("Can't use Bearer [credential] here");
      expect(holdsCredential(whole)).toBe(false);
      answer = ({ response }) => {
        response.setHeader("content-type", "text/event-stream");
        response.write(escaped(chunkOf({ content: QUOTED })));
        response.write(escaped(chunkOf({ content: QUOTED })));
        response.end(`${escaped(chunkOf({}, "stop"))}data: [DONE]\n\n`);
      };
      const streamed = await ask("openai", { stream: true });
      expect(streamed.split("Bearer [credential] here")).toHaveLength(3);
      expect(holdsCredential(streamed)).toBe(false);
    }
  });

  it("does not reveal it by an error in the middle of a stream", async () => {
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "so far" }));
      const error = { message: QUOTED, code: "context_length_exceeded" };
      response.end(`data: ${JSON.stringify({ error })}\n\n`);
    };
    const told = await ask("openai", { stream: true });
    expect(told).toContain("[credential]");
    expect(holdsCredential(told)).toBe(false);
  });

  it("leaves it in no audit entry and no line that the service prints", async () => {
    refuse(400, { message: QUOTED, param: CREDENTIAL });
    await ask("openai");
    const { entries } = await owner.trpc.audit.list.query({ limit: 10 });
    expect(holdsCredential(inspect(entries, { depth: 9 }))).toBe(false);
    expect(holdsCredential(service.stdout() + service.stderr())).toBe(false);
  });
});

describe("an upstream whose credential is a placeholder", () => {
  it("may use that word in its answers", async () => {
    answer = (request) => answerWhole(request, `I run on ${PLACEHOLDER}.`);
    expect(await ask("local")).toContain("I run on ollama.");
  });
});

describe("an upstream that refuses reasoning in words of its choice", () => {
  /** The time until a request is answered whose first try is refused with a message. The second try has no reasoning. */
  async function timeWith(message: string): Promise<number> {
    answer = (request) => {
      if (request.body.reasoning_effort === undefined) return answerWhole(request);
      request.response.writeHead(400, { "content-type": "application/json" });
      request.response.end(JSON.stringify({ error: { message } }));
    };
    const times: number[] = [];
    for (let run = 0; run < 3; run++) {
      const start = performance.now();
      const fields = { max_tokens: 2_000, output_config: { effort: "high" } };
      expect(await ask("openai", fields, "messages")).toContain("ostiary-ignored-fields");
      times.push(performance.now() - start);
    }
    return Math.min(...times);
  }

  it.each(["effort", "extra", "effort-", "unsupported"])(
    "takes the node little time by a message that repeats %s",
    async (word) => {
      const usual = await timeWith("The effort is too high for this model. ".repeat(25).slice(0, 1_000));
      const hostile = await timeWith(`effort ${word.repeat(1_000)}`.slice(0, 1_000));
      expect(hostile).toBeLessThan(20 * usual);
    },
  );
});

describe("an upstream that refuses the service's credential now and then", () => {
  it("does not fill the log", async () => {
    const lines = () => service.stderr().split("refuses the service's credential").length - 1;
    const before = lines();
    let asked = 0;
    answer = (request) => {
      if (asked++ % 2 === 1) return answerWhole(request);
      request.response.writeHead(401).end();
    };
    for (let pair = 0; pair < 6; pair++) {
      expect(await ask("openai")).toMatch(/^502 /);
      expect(await ask("openai")).toMatch(/^200 /);
    }
    expect(lines()).toBeGreaterThan(0);
    expect(lines() - before).toBeLessThanOrEqual(1);
  });
});
