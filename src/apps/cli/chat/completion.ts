import { type AutocompleteProvider, CombinedAutocompleteProvider } from "@earendil-works/pi-tui";
import type { ChatCommand, Place } from "../../../commands/command.ts";
import { commandsIn } from "../../../commands/table.ts";
import { onOneLine } from "../../../core/printable.ts";

/** Completes commands, and after them titles and handles. What is not a command is left alone. */
export function completion(place: Place): AutocompleteProvider {
  const commands = new CombinedAutocompleteProvider(
    commandsIn(place).map((command) => ({
      name: command.name,
      description: command.summary,
      ...(command.takes !== undefined && { argumentHint: command.takes }),
      ...(command.complete !== undefined && {
        getArgumentCompletions: (begun: string) => argumentsOf(place, command, begun),
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

async function argumentsOf(place: Place, command: ChatCommand, begun: string) {
  const choices = (await command.complete?.(place, begun)) ?? [];
  return choices.map(({ line, label, about }) => ({
    value: line.slice(command.name.length + 2),
    label: onOneLine(label),
    description: onOneLine(about),
  }));
}
