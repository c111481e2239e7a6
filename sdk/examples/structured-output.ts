// An answer that has a type, because it is validated.
import Ostiary, { OutputValidationError } from "ostiary";
import { z } from "zod";

const client = new Ostiary();

const Recipe = z.object({
  title: z.string(),
  minutes: z.int().min(1).max(600),
  ingredients: z.array(z.object({ name: z.string(), grams: z.number().nullable() })),
});

try {
  const completion = await client.chat.completions.parse(
    { model: "sandbox/echo", messages: [{ role: "user", content: "A recipe for bread." }] },
    { schema: Recipe },
  );
  const recipe = completion.choices[0]?.message.parsed;
  if (recipe)
    console.log(
      "title:",
      recipe.title,
      "minutes:",
      recipe.minutes,
      "ingredients:",
      recipe.ingredients.length,
    );
  else console.log("refused:", completion.choices[0]?.message.refusal);
} catch (error) {
  if (!(error instanceof OutputValidationError)) throw error;
  for (const { path, message } of error.issues) console.error(path?.join("."), message);
  process.exitCode = 1;
}
