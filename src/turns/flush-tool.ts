import { changedMemory, type MemoryChange } from "../core/memory.ts";
import { text } from "../core/message.ts";
import { plural } from "../core/plural.ts";
import { isRefused } from "../core/refusal.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";

/** A memory tool that works on a copy, and the changes that were made to it. */
export interface Notes {
  readonly tool: Tool;
  readonly changes: readonly MemoryChange[];
}

export function notesOn(entries: readonly string[]): Notes {
  const changes: MemoryChange[] = [];
  let remembered = entries;
  return {
    changes,
    tool: {
      name: "memory",
      description:
        "Changes what is remembered of the person. add: one more entry. replace: the one entry that holds `old` becomes `text`. remove: the one entry that holds `old` goes.",
      input: {
        type: "object",
        properties: {
          action: { type: "string", enum: ["add", "replace", "remove"] },
          text: { type: "string", description: "The entry, in one line; for add and replace." },
          old: {
            type: "string",
            description: "Words that only the meant entry holds; for replace and remove.",
          },
        },
        required: ["action"],
        additionalProperties: false,
      },
      // Nothing happens outside before the flush is finished, and then all at once.
      effect: "none",
      async run(given) {
        const change = changeOf(given);
        if (change === undefined)
          return failed("Give an action: add with text, replace with old and text, or remove with old.");
        const changed = changedMemory(remembered, change);
        if (isRefused(changed)) return failed(changed.reason);
        if (changed !== remembered) changes.push(change);
        remembered = changed;
        return { parts: [text(`Saved. ${plural(changed.length, "entry is", "entries are")} remembered.`)] };
      },
    },
  };
}

function changeOf(given: unknown): MemoryChange | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { action, text: words, old } = given as Readonly<Record<string, unknown>>;
  if (action === "add" && typeof words === "string") return { action, text: words };
  if (action === "remove" && typeof old === "string") return { action, old };
  if (action === "replace" && typeof words === "string" && typeof old === "string")
    return { action, old, text: words };
  return undefined;
}

function failed(reason: string): ToolOutput {
  return { parts: [text(reason)], failed: true };
}
