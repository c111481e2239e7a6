// A conversation of two turns. The request id is what an operator finds a request by.
import Ostiary, { type ChatCompletionMessageParam } from "ostiary";

const client = new Ostiary();
const messages: ChatCompletionMessageParam[] = [{ role: "system", content: "Answer in one sentence." }];

for (const question of ["What is an ostiary?", "Who was the first?"]) {
  messages.push({ role: "user", content: question });
  const answer = await client.chat.completions.create({ model: "sandbox/echo", messages });
  const content = answer.choices[0]?.message.content ?? "";
  messages.push({ role: "assistant", content });
  console.log(content);
  console.log("tokens:", answer.usage?.total_tokens, "request:", answer._request_id);
}
