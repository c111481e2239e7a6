// An answer that is shown as it arrives, twice: chunk by chunk, and by events with the whole message at the end.
import Ostiary from "ostiary";

const client = new Ostiary();
const body = {
  model: "sandbox/lorem",
  messages: [{ role: "user" as const, content: "Tell me a story." }],
  // The last chunk has the tokens.
  stream_options: { include_usage: true },
};

// Leaving the block ends the request, also by an error.
{
  await using stream = await client.chat.completions.create({ ...body, stream: true });
  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
  process.stdout.write("\n");
}

const events = client.chat.completions.stream(body).on("content", (delta) => process.stdout.write(delta));
const completion = await events.finalCompletion();
process.stdout.write("\n");
console.log(
  "finished by:",
  completion.choices[0]?.finish_reason,
  "tokens:",
  completion.usage?.completion_tokens,
);
