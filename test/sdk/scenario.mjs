// What an application does with the package as it is installed. Run by Node and by Deno, with the package beside it.
import process from "node:process";
import Ostiary, { AuthenticationError, NotFoundError, tool, verifyAuditExport } from "ostiary";
import { OstiaryOperator } from "ostiary/operator";

const client = new Ostiary();
const messages = [{ role: "user", content: "one two three" }];
const seen = {};

const whole = await client.chat.completions.create({ model: "sandbox/echo", messages });
seen.whole = whole.choices[0].message.content;
seen.streamed = "";
for await (const chunk of await client.chat.completions.create({
  model: "sandbox/echo",
  messages,
  stream: true,
})) {
  seen.streamed += chunk.choices[0]?.delta.content ?? "";
}
seen.final = await client.chat.completions.stream({ model: "sandbox/echo", messages }).finalContent();
const [one, other] = (
  await client.chat.completions.create({ model: "sandbox/echo", messages, stream: true })
).tee();
const lines = (await new Response(one.toReadableStream()).text()).trimEnd().split("\n");
let chunks = 0;
for await (const _ of other) chunks++;
seen.teed = chunks > 0 && lines.length === chunks;
const validate = (value) => ({ value });
const schema = { "~standard": { version: 1, vendor: "none", validate } };
const jsonSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const parsed = await client.chat.completions.parse(
  { model: "sandbox/echo", messages },
  { schema, jsonSchema },
);
seen.parsed = typeof parsed.choices[0].message.parsed.city;
const weather = tool({ name: "weather", schema, jsonSchema, run: ({ city }) => `sunny in a ${typeof city}` });
const question = [{ role: "user", content: "weather" }];
seen.tools = await client.chat.completions
  .runTools({ model: "sandbox/echo", messages: question, tools: [weather] })
  .finalContent();
seen.withOptions = (await client.withOptions({ timeout: 60_000 }).get("/models")).data.length;
seen.embedding = (
  await client.embeddings.create({ model: "sandbox/embedding", input: "x" })
).data[0].embedding.length;
seen.models = (await client.models.list()).data.length;
seen.missing = await client.models
  .retrieve("no/such")
  .catch((error) => error instanceof NotFoundError && error.status);
seen.stranger = await new Ostiary({ apiKey: "sk-wrong" }).models
  .list()
  .catch((error) => error instanceof AuthenticationError && error.code);

const created = await client.keys.create({ name: "by the package" });
seen.createdAt = created.createdAt instanceof Date;
const successor = await client.keys.rotate(created.id, { idleAfterSeconds: 60 });
const listed = await client.keys.list();
seen.rotated = listed.find(({ id }) => id === created.id)?.rotation?.successorId === successor.id;
await client.keys.revoke(created.id);
seen.revoked = await new Ostiary({ apiKey: created.key }).models
  .list()
  .catch((error) => error instanceof AuthenticationError && error.code);
seen.plan = (await client.account.get()).plan;
const summary = await client.usage.summary({
  from: new Date(Date.now() - 86_400_000),
  to: new Date(),
  interval: "hour",
});
seen.usage = typeof summary.total.costNanoUsd;
const leaving = new AbortController();
const options = { signal: leaving.signal };
const stream = await client.chat.completions.create(
  { model: "sandbox/lorem", messages, stream: true },
  options,
);
leaving.abort();
seen.aborted = await stream[Symbol.asyncIterator]()
  .next()
  .catch((error) => error.name);
const { response, requestId } = await client.models.retrieve("sandbox/echo").withResponse();
seen.response = response instanceof Response && requestId === response.headers.get("x-request-id");
let entries = 0;
for await (const entry of client.audit.list({ limit: 2 })) if (entry.key_id.length === 4) entries++;
seen.audit = entries > 5;
seen.balance = typeof (await client.credits.balance()).balanceNanoUsd;
seen.operator = await new OstiaryOperator().upstreams().catch((error) => error.code);

const exported = [];
for await (const line of client.audit.export()) exported.push(line);
seen.exported = exported.length > 0;
seen.verified = (await verifyAuditExport(exported)).ok;
process.stdout.write(JSON.stringify(seen));
