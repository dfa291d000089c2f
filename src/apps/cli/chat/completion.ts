import { type AutocompleteProvider, CombinedAutocompleteProvider } from "@earendil-works/pi-tui";
import type { ChatCommand, ChatCommandContext } from "../../../commands/command.ts";
import { listAvailableCommands } from "../../../commands/table.ts";
import { toOneLine } from "../../../core/printable.ts";

/** Completes commands and their arguments (titles and handles). Other text gets no completion. */
export function completion(context: ChatCommandContext): AutocompleteProvider {
  const commands = new CombinedAutocompleteProvider(
    listAvailableCommands(context).map((command) => ({
      name: command.name,
      description: command.summary,
      ...(command.parameters !== undefined && { argumentHint: command.parameters }),
      ...(command.complete !== undefined && {
        getArgumentCompletions: (prefix: string) => completeArguments(context, command, prefix),
      }),
    })),
    process.cwd(),
  );
  return {
    async getSuggestions(lines, line, column, options) {
      const isCommand = line === 0 && lines[0]?.startsWith("/") && !options.force;
      return isCommand ? commands.getSuggestions(lines, line, column, options) : null;
    },
    applyCompletion: (...args) => commands.applyCompletion(...args),
    shouldTriggerFileCompletion: () => false,
  };
}

async function completeArguments(context: ChatCommandContext, command: ChatCommand, prefix: string) {
  const choices = (await command.complete?.(context, prefix)) ?? [];
  return choices.map(({ line, label, about }) => ({
    value: line.slice(command.name.length + 2),
    label: toOneLine(label),
    description: toOneLine(about),
  }));
}
