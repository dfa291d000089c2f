import { applyMemoryChange, type MemoryChange } from "../core/memory.ts";
import { textPart } from "../core/message.ts";
import { pluralize } from "../core/pluralize.ts";
import { isRefused } from "../core/refusal.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";

/** A memory tool that works on a copy, and the changes to that copy. */
export interface FlushTool {
  readonly tool: Tool;
  readonly changes: readonly MemoryChange[];
}

export function buildFlushTool(entries: readonly string[]): FlushTool {
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
      // The changes are stored together at the end of the flush.
      effect: "none",
      async run(input) {
        const change = parseChange(input);
        if (change === undefined)
          return buildFailure(
            "Give an action: add with text, replace with old and text, or remove with old.",
          );
        const changed = applyMemoryChange(remembered, change);
        if (isRefused(changed)) return buildFailure(changed.reason);
        if (changed !== remembered) changes.push(change);
        remembered = changed;
        return {
          parts: [textPart(`Saved. ${pluralize(changed.length, "entry is", "entries are")} remembered.`)],
        };
      },
    },
  };
}

function parseChange(input: unknown): MemoryChange | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const { action, text, old } = input as Readonly<Record<string, unknown>>;
  if (action === "add" && typeof text === "string") return { action, text };
  if (action === "remove" && typeof old === "string") return { action, old };
  if (action === "replace" && typeof text === "string" && typeof old === "string")
    return { action, old, text };
  return undefined;
}

function buildFailure(reason: string): ToolOutput {
  return { parts: [textPart(reason)], failed: true };
}
