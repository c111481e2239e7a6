// A route handler as Next.js has it in `app/api/chat/route.ts`, and every framework with web standards in another place. It passes on
// only the text of the answer.
import Ostiary from "ostiary";

const client = new Ostiary();

export async function POST(request: Request): Promise<Response> {
  const { question } = (await request.json()) as { question?: unknown };
  if (typeof question !== "string")
    return Response.json({ message: "question must be a text" }, { status: 400 });
  const stream = await client.chat.completions.create(
    { model: "sandbox/echo", messages: [{ role: "user", content: question }], stream: true },
    { signal: request.signal },
  );
  const encoder = new TextEncoder();
  const texts = new TransformStream<string, Uint8Array>({
    transform: (line, controller) => {
      const chunk = JSON.parse(line);
      controller.enqueue(encoder.encode(chunk.choices[0]?.delta.content ?? ""));
    },
  });
  return new Response(stream.toReadableStream().pipeThrough(lines()).pipeThrough(texts), {
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}

/** Divides bytes into lines. */
function lines(): TransformStream<Uint8Array, string> {
  const decoder = new TextDecoder();
  let rest = "";
  return new TransformStream({
    transform: (bytes, controller) => {
      const parts = `${rest}${decoder.decode(bytes, { stream: true })}`.split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) controller.enqueue(part);
    },
  });
}
