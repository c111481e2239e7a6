import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// What a body may cost to be parsed and checked, and who pays for it.

const unlimited = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
const TOKENS_PER_MINUTE = 300_000;
const REQUESTS_PER_MINUTE = 5;

let open: Service;
let limited: Service;

beforeAll(async () => {
  const start = (limits: object) =>
    startService({
      env: {
        OSTIARY_PLANS: JSON.stringify({ free: limits, pro: limits, enterprise: limits }),
        OSTIARY_LOG: "silent",
      },
    });
  [open, limited] = await Promise.all([
    start(unlimited),
    start({
      ...unlimited,
      requestsPerMinute: REQUESTS_PER_MINUTE,
      tokensPerMinute: TOKENS_PER_MINUTE,
    }),
  ]);
});

afterAll(async () => {
  await Promise.all([open?.[Symbol.asyncDispose](), limited?.[Symbol.asyncDispose]()]);
});

interface Answer {
  readonly status: number;
  readonly code: string | null;
}

async function post(
  { baseUrl }: Service,
  key: string,
  body: string,
  path = "chat/completions",
): Promise<Answer> {
  const response = await fetch(`${baseUrl}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body,
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return { status: response.status, code: error?.code ?? null };
}

const repeated = (text: string, bytes: number) =>
  Array(Math.floor(bytes / (text.length + 1)))
    .fill(text)
    .join(",");
const numbered = (count: number, of: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => of(i)).join(",");
const chatOf = (content: string) =>
  `{"model":"sandbox/echo","max_tokens":1,"messages":[{"role":"user","content":${content}}]}`;
const chatWith = (members: string) => `${chatOf('"hi"').slice(0, -1)},${members}}`;

const messageOf = (members: string) =>
  `{"model":"sandbox/echo","max_tokens":1,"messages":[{"role":"user",${members}}]}`;

const MB = 1_000_000;
interface DearBody {
  readonly name: string;
  readonly body: string;
  /** `chat/completions` unless it says otherwise. */
  readonly path?: string;
}

const dearBodies: readonly DearBody[] = [
  { name: "distinct fields", body: chatWith(numbered(700_000, (i) => `"f${i}":1`)) },
  { name: "distinct fields of a message", body: chatOf(`"hi",${numbered(700_000, (i) => `"f${i}":1`)}`) },
  {
    name: "distinct fields, one to an object",
    body: chatWith(`"x":[${numbered(500_000, (i) => `{"f${i}":1}`)}]`),
  },
  { name: "content parts", body: chatOf(`[${repeated("{}", 9 * MB)}]`) },
  { name: "messages", body: chatOf('"hi"').replace("[", `[${repeated("{}", 9 * MB)},`) },
  { name: "messages that are numbers", body: chatOf('"hi"').replace("[", `[${repeated("1", 7 * MB)},`) },
  { name: "tools that are numbers", body: chatWith(`"tools":[${repeated("1", 7 * MB)}]`) },
  { name: "stops that are numbers", body: chatWith(`"stop":[${repeated("1", 7 * MB)}]`) },
  { name: "distinct short texts", body: chatWith(`"x":[${numbered(700_000, (i) => `"t${i}"`)}]`) },
  { name: "an array of objects", body: `[${numbered(500_000, (i) => `{"f${i}":1}`)}]` },
  { name: "commas", body: chatWith(",".repeat(9 * MB)) },
  { name: "colons", body: chatWith(":".repeat(9 * MB)) },
  {
    name: "blocks that are numbers",
    body: messageOf(`"content":[${repeated("1", 7 * MB)}]`),
    path: "messages",
  },
  {
    name: "instructions that are numbers",
    body: messageOf('"content":"hi"').replace("{", `{"system":[${repeated("1", 7 * MB)}],`),
    path: "messages",
  },
  {
    name: "allowed tools that are numbers",
    body: chatWith(
      `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[${repeated("1", 7 * MB)}]}}`,
    ),
  },
  {
    name: "inputs of several kinds",
    body: `{"model":"sandbox/embed","input":[${repeated("1", 7 * MB)},"x"]}`,
    path: "embeddings",
  },
];

async function cpuSecondsOf(key: string, body: string, status: number, times = 1): Promise<number> {
  const before = await metricOf(open.baseUrl, "process_cpu_seconds_total");
  for (let sent = 0; sent < times; sent++) expect((await post(open, key, body)).status).toBe(status);
  return (await metricOf(open.baseUrl, "process_cpu_seconds_total")) - before;
}

describe("a body that is expensive to parse", () => {
  it.each(dearBodies)(
    "with $name is refused, and costs at most twice as much as a plain one",
    async ({ body, path }) => {
      const { key } = await signUpWithKey(open.baseUrl);
      const cpuSeconds = () => metricOf(open.baseUrl, "process_cpu_seconds_total");
      const plain = chatOf(`"${"x".repeat(body.length)}"`);
      let times = Number.POSITIVE_INFINITY;
      // A collection of memory may come while either is measured.
      for (let attempt = 0; attempt < 3 && times >= 2; attempt++) {
        const before = await cpuSeconds();
        expect((await post(open, key, plain)).status).toBe(200);
        const between = await cpuSeconds();
        expect(await post(open, key, body, path)).toMatchObject({ status: 400 });
        times = ((await cpuSeconds()) - between) / (between - before);
      }
      expect(times).toBeLessThan(2);
    },
  );

  it("with thousands of faults is refused at the first one without checking the rest", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const messages = (message: string) =>
      `{"model":"sandbox/echo","max_tokens":1,"messages":[${Array(9_999).fill(message).join(",")}]}`;
    const right = await cpuSecondsOf(key, messages('{"role":"user","content":"hi"}'), 200, 10);
    const wrong = await cpuSecondsOf(key, messages('{"role":1,"content":"hi"}'), 400, 10);
    expect(wrong).toBeLessThan(right);
  });

  // They are sorted by their class when they are normalized, which takes the square of their number.
  it("because a name has many combining characters costs no more than others", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const marks = "\u0300".repeat(50_000) + "\u0316".repeat(50_000);
    expect(await cpuSecondsOf(key, chatWith(`"x${marks}":1`), 200)).toBeLessThan(1);
  });

  it("because the sandbox is to use a broad schema a thousand times is not read as often", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const broad = `{"type":"string",${numbered(60_000, (i) => `"x${i}":1`)}}`;
    const withItems = (count: number) => {
      const list = `{"type":"array","minItems":${count},"maxItems":${count},"items":${broad}}`;
      const schema = `{"type":"object","properties":{"a":${list}}}`;
      const json = `{"name":"n","schema":${schema}}`;
      return chatWith(`"response_format":{"type":"json_schema","json_schema":${json}}`);
    };
    const once = await cpuSecondsOf(key, withItems(1), 200);
    expect(await cpuSecondsOf(key, withItems(1_000), 200)).toBeLessThan(40 * once);
  });

  it("because the host of a URL has many combining characters is refused", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const marks = "\u0300".repeat(20_000) + "\u0316".repeat(20_000);
    for (const start of ["http://a", "https:\\\\\\/user@", "HTTP:/\\t"]) {
      const source = `{"type":"url","url":"${start}${marks}/a.png"}`;
      const body = messageOf(`"content":[{"type":"image","source":${source}}]`);
      const before = await metricOf(open.baseUrl, "process_cpu_seconds_total");
      expect(await post(open, key, body, "messages")).toEqual({ status: 400, code: null });
      expect((await metricOf(open.baseUrl, "process_cpu_seconds_total")) - before).toBeLessThan(1);
    }
  });

  it("because the sandbox looks for the names of tools in a long message takes no longer than others", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const tools = numbered(128, (i) => `{"type":"function","function":{"name":"aaab${i}"}}`);
    const body = `${chatOf(`"${"a".repeat(9 * MB)}"`).slice(0, -1)},"tools":[${tools}]}`;
    const plain = await cpuSecondsOf(key, chatOf(`"${"a".repeat(9 * MB)}"`), 200);
    expect(await cpuSecondsOf(key, body, 200)).toBeLessThan(5 * plain);
  });

  // On some versions of Node and Deno, numerals that were chosen for it collide in a hash table: 30,000 of them took four seconds.
  it("with thousands of texts that are numerals is refused, however they are written", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const colliding = (count: number, written = (digits: string) => `"${digits}"`) =>
      numbered(count, (i) => written(`${(i + 1) * 65_536}`));
    const escaped = (digits: string) => `"${digits.replace(/\d/g, "\\u003$&")}"`;
    const refused = { status: 400, code: "invalid_request" };
    expect(await post(open, key, chatWith(`"x":[${colliding(4_001)}]`))).toEqual(refused);
    expect(await post(open, key, chatWith(`"x":[${colliding(4_001, escaped)}]`))).toEqual(refused);
    expect(await post(open, key, chatWith(`"x":[{"y":[${colliding(2_001)}]},${colliding(2_000)}]`))).toEqual(
      refused,
    );
    const bias = colliding(5_000, (digits) => `"${digits}":0`);
    expect((await post(open, key, chatWith(`"logit_bias":{${bias}}`))).status).toBe(200);
    const batch = `{"model":"no/such","input":[${colliding(2_048)}]}`;
    expect(await post(open, key, batch, "embeddings")).toEqual({ status: 404, code: "model_not_found" });
  });

  it("does not include what clients usually send: long conversations, many tools, batches of tokens", async () => {
    const { key } = await signUpWithKey(open.baseUrl);
    const message = '{"role":"user","content":[{"type":"text","text":"hi"}]}';
    const conversation = chatOf('"hi"').replace("[", `[${Array(9_000).fill(message).join(",")},`);
    expect((await post(open, key, conversation)).status).toBe(200);
    const schema = `{"type":"object","properties":{${numbered(40, (i) => `"p${i}":{"type":"string"}`)}}}`;
    const tools = numbered(
      128,
      (i) => `{"type":"function","function":{"name":"t${i}","parameters":${schema}}}`,
    );
    expect((await post(open, key, chatWith(`"tools":[${tools}]`))).status).toBe(200);
    const batch = `{"model":"no/such","input":[${Array(256)
      .fill(`[${repeated("7", 8_000)}]`)
      .join(",")}]}`;
    expect(await post(open, key, batch, "embeddings")).toEqual({ status: 404, code: "model_not_found" });
  });
});

describe("an account over its rate limit", () => {
  const large = (more = "") => chatOf(`"${"x".repeat(4 * 0.9 * TOKENS_PER_MINUTE)}"${more}`);

  it("is refused before the body is parsed", async () => {
    const { key } = await signUpWithKey(limited.baseUrl);
    expect((await post(limited, key, large())).status).toBe(200);
    expect(await post(limited, key, large(",,,"))).toEqual({ status: 429, code: "rate_limit_exceeded" });
  });

  it("can get there by a large body that was refused", async () => {
    const { key } = await signUpWithKey(limited.baseUrl);
    expect(await post(limited, key, large(",,,"))).toEqual({ status: 400, code: "invalid_json" });
    expect(await post(limited, key, large())).toEqual({ status: 429, code: "rate_limit_exceeded" });
    const another = await signUpWithKey(limited.baseUrl);
    const wrong = large().replace('"max_tokens":1', '"max_tokens":"1"');
    expect(await post(limited, another.key, wrong)).toEqual({ status: 400, code: "invalid_request" });
    expect(await post(limited, another.key, large())).toEqual({ status: 429, code: "rate_limit_exceeded" });
  });

  it("can get there by requests that were refused for their bodies", async () => {
    const { key } = await signUpWithKey(limited.baseUrl);
    for (const body of ["{", "", '{"model":1}', `[${"1,".repeat(100)}1]`, chatOf("{}, 1")]) {
      expect((await post(limited, key, body)).status).toBe(400);
    }
    expect(await post(limited, key, chatOf('"hi"'))).toEqual({ status: 429, code: "rate_limit_exceeded" });
  });

  it("does not get there by the tokens of small refused requests", async () => {
    const { key } = await signUpWithKey(limited.baseUrl);
    const wrong = chatWith(`"max_tokens":${0.8 * TOKENS_PER_MINUTE},"n":"two"`);
    for (let sent = 0; sent < 3; sent++) expect((await post(limited, key, wrong)).status).toBe(400);
    expect((await post(limited, key, chatOf('"hi"'))).status).toBe(200);
  });
});
