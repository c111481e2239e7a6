import process from "node:process";
import { addAbortSignal } from "node:stream";
import type { Command } from "commander";
import { aborted } from "../core/abort.ts";
import { OstiaryError } from "../core/errors.ts";
import { type CommandParts, MAX_COUNT } from "./command-parts.ts";
import { forTerminal, table, wholeNumber } from "./output.ts";

/** Adds `chat` and `models`. */
export function addModelCommands(program: Command, { client, print, isJson, signal }: CommandParts): void {
  program
    .command("chat")
    .description("send a message to a model and print the answer as it arrives")
    .argument("<model>", 'id of the model, as "models" lists it')
    .argument("[prompt...]", "the message (default: standard input)")
    .option("--system <text>", "system message")
    .option(
      "--max-tokens <number>",
      "maximum length of the answer, in tokens",
      wholeNumber("--max-tokens", 1, MAX_COUNT),
    )
    .option("--temperature <number>", "randomness, 0 to 2", temperature)
    .action(
      async (
        model: string,
        words: string[],
        options: { system?: string; maxTokens?: number; temperature?: number },
      ) => {
        const content = words.length > 0 ? words.join(" ") : await standardInput(signal);
        if (content.trim() === "") {
          throw new OstiaryError(
            "There is no prompt. Write it after the model, or pass it on standard input.",
          );
        }
        const system =
          options.system === undefined ? [] : [{ role: "system" as const, content: options.system }];
        const stream = client().chat.completions.stream(
          {
            model,
            messages: [...system, { role: "user", content }],
            ...(options.maxTokens === undefined ? {} : { max_tokens: options.maxTokens }),
            ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
          },
          { signal },
        );
        // A file or a pipe gets the answer as it is.
        const shown = process.stdout.isTTY ? forTerminal : (delta: string) => delta;
        if (!isJson()) stream.on("content", (delta) => void process.stdout.write(shown(delta)));
        const completion = await stream.finalCompletion();
        if (isJson()) print(completion, []);
        else process.stdout.write("\n");
      },
    );

  program
    .command("models")
    .description("list the models of the catalog")
    .action(async () => {
      const models = (await client().models.list({ signal })).data;
      print(
        models,
        table(
          ["id", "context", "input $/Mtok", "output $/Mtok"],
          models.map((model) => [
            model.id,
            String(model.context_tokens ?? ""),
            model.pricing?.input_usd_per_mtok ?? "free",
            model.pricing?.output_usd_per_mtok ?? "free",
          ]),
        ),
      );
    });
}

function temperature(text: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text))
    throw new OstiaryError("--temperature must be a number of 0 or greater, such as 0.7.");
  return Number(text);
}

/** What a pipe or file delivers; nothing if a person would have to type it. */
async function standardInput(signal: AbortSignal): Promise<string> {
  if (process.stdin.isTTY) return "";
  let text = "";
  try {
    for await (const chunk of addAbortSignal(signal, process.stdin.setEncoding("utf8"))) text += chunk;
  } catch (error) {
    throw signal.aborted ? aborted(signal) : error;
  }
  return text;
}
