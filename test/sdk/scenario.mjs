// What an application does with the package as it is installed. Run by Node and by Deno, with the package beside it.
import process from "node:process";
import Ostiary, { AuthenticationError, NotFoundError, verifyAuditExport } from "ostiary";
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
await client.keys.revoke(created.id);
seen.balance = typeof (await client.credits.balance()).balanceNanoUsd;
seen.operator = await new OstiaryOperator().upstreams().catch((error) => error.code);

const lines = [];
for await (const line of client.audit.export()) lines.push(line);
seen.exported = lines.length > 0;
seen.verified = (await verifyAuditExport(lines)).ok;
process.stdout.write(JSON.stringify(seen));
