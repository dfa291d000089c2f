import {
  type Component,
  type Focusable,
  Input,
  matchesKey,
  SelectList,
  truncateToWidth,
} from "@earendil-works/pi-tui";
import type { Choice } from "../../../commands/command.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Theme } from "./theme.ts";

const ROWS = 8;

/** A list to pick from. Typing filters it. */
export function picker(
  title: string,
  choices: readonly Choice[],
  theme: Theme,
  picked: (choice: Choice | undefined) => void,
): Component & Focusable {
  const input = new Input({ prompt: "filter: " });
  let list = listOf(choices);

  function listOf(shown: readonly Choice[]): SelectList {
    const items = shown.map(({ line, label, about }) => ({
      value: line,
      label: toOneLine(label),
      description: toOneLine(about),
    }));
    const made = new SelectList(items, ROWS, theme.list, { maxPrimaryColumnWidth: 60 });
    made.onSelect = (item) => picked(choices.find(({ line }) => line === item.value));
    made.onCancel = () => picked(undefined);
    return made;
  }

  return {
    get focused() {
      return input.focused;
    },
    set focused(on) {
      input.focused = on;
    },
    handleInput(data) {
      const steers = ["up", "down", "enter", "escape", "pageUp", "pageDown"] as const;
      if (matchesKey(data, "ctrl+c")) picked(undefined);
      else if (steers.some((key) => matchesKey(data, key))) list.handleInput(data);
      else {
        const before = input.getValue();
        input.handleInput(data);
        if (input.getValue() !== before) list = listOf(filterChoices(choices, input.getValue()));
      }
    },
    render(width) {
      const heading = theme.bold(` ${title}`) + theme.dim("  type to filter · Enter selects · Esc cancels");
      return [truncateToWidth(heading, width), ...input.render(width), ...list.render(width)];
    },
    invalidate() {
      list.invalidate();
    },
  };
}

/** The row must contain every word. */
function filterChoices(choices: readonly Choice[], filter: string): readonly Choice[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return choices.filter(({ line, label, about }) => {
    const row = `${line} ${label} ${about}`.toLowerCase();
    return words.every((word) => row.includes(word));
  });
}
