import type { Command } from "commander";

/**
 * Adds the command `help` to a program and to each group of commands below it that has none. It takes the path of a command, such as
 * `audit export`, while Commander's own takes one name and ignores what follows. Call it when all commands have been added.
 */
export function addHelpCommands(group: Command): void {
  for (const command of group.commands) {
    if (command.commands.length > 0) addHelpCommands(command);
  }
  if (group.commands.some((command) => command.name() === "help")) return;
  group
    .helpCommand(false)
    .command("help")
    .argument("[command...]")
    .description("print the help of a command")
    .action((path: readonly string[]) => commandAt(group, path).help());
}

/** Finds the command with this path, or ends with an error that names the part of the path that no command has. */
function commandAt(group: Command, path: readonly string[]): Command {
  const [name, ...rest] = path;
  if (name === undefined) return group;
  const found = group.commands.find((command) => command.name() === name);
  if (found !== undefined) return commandAt(found, rest);
  return group.error(`error: unknown command '${name}'`, { code: "commander.unknownCommand" });
}
