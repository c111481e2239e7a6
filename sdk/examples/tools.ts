// Functions that a model calls. An error of a function goes to the model, which can correct its call.
import Ostiary, { tool } from "ostiary";
import { z } from "zod";

const client = new Ostiary();

const weather = tool({
  name: "weather",
  description: "The present weather of a city.",
  schema: z.object({ city: z.string(), unit: z.enum(["celsius", "fahrenheit"]).default("celsius") }),
  run: async ({ city, unit }, { signal }) => {
    signal.throwIfAborted();
    return { city, unit, temperature: unit === "celsius" ? 21 : 70 };
  },
});

const run = client.chat.completions
  .runTools(
    {
      model: "sandbox/echo",
      messages: [{ role: "user", content: "What is the weather in Paris?" }],
      tools: [weather],
    },
    { maxRounds: 5 },
  )
  .on("toolResult", ({ content }) => console.log("result:", content));

console.log("answer:", await run.finalContent());
console.log("messages:", run.messages.length, "tokens:", run.totalUsage.total_tokens);
