import { PostriderError } from "../core/errors.ts";
import {
  countMemoryChars,
  getProfileMemoryOwner,
  MAX_MEMORY_CHARS,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
} from "../core/memory.ts";
import { textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, runToolAction, type ToolArguments, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

export function memoryTool(context: ToolContext): Tool {
  const isGroup = "chat" in context.asker && context.asker.chat !== undefined;
  const mayTellAll = context.role === "owner" && !isGroup;
  return {
    name: "memory",
    description: [
      "Stores facts for later sessions, such as who a person is, their preferences, and agreements. Your instructions already contain the current entries.",
      "Write short facts, one per entry. Store nothing that is true only today, and no passwords or keys.",
      "Replace or remove entries that are no longer true.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        action: { type: "string", enum: ["add", "replace", "remove"] },
        target: {
          type: "string",
          enum: ["person", "profile"],
          description: `The memory, by default person: ${describePersonMemory(context)}; profile is visible to everyone who talks with you${mayTellAll ? "" : ", and cannot be changed here"}.`,
        },
        text: { type: "string", description: "For add and replace: the text to remember." },
        old: {
          type: "string",
          description: "For replace and remove: a part of the text of exactly one entry.",
        },
      },
      required: ["action"],
      additionalProperties: false,
    },
    // Safe to repeat after a crash: the change is one transaction, an existing entry is not added twice.
    effect: "none",
    run: (value) =>
      runToolAction(async () => {
        const given = toToolArguments(value);
        const change = parseMemoryChange(given);
        const isForAll = readTextArgument(given, "target") === "profile";
        if (isForAll && !mayTellAll) throw createProfileDeniedError(isGroup);
        const owner = isForAll ? getProfileMemoryOwner(context.profile) : context.owner;
        return { parts: [textPart(await applyMemoryChange(context, owner, change))] } satisfies ToolOutput;
      }),
  };
}

/** In a group, people may share a session, or each has one that the others can read. */
function describePersonMemory({ asker, owner }: ToolContext): string {
  const chat = "chat" in asker ? asker.chat : undefined;
  if (chat === undefined) return "person is the memory of the person that you talk with";
  const here = "it applies only to this chat, and everyone here can read it";
  return owner === chat
    ? `person is the memory of this group chat: ${here}; name the person in each entry`
    : `person is the memory of the person that you talk with in this group chat: ${here}`;
}

function parseMemoryChange(given: ToolArguments): MemoryChange {
  const [words, old] = [readTextArgument(given, "text") ?? "", readTextArgument(given, "old") ?? ""];
  switch (given.action) {
    case "add":
      return { action: "add", text: words };
    case "replace":
      return { action: "replace", old, text: words };
    case "remove":
      return { action: "remove", old };
    default:
      throw new PostriderError("invalid_input", "The action must be add, replace or remove.");
  }
}

function createProfileDeniedError(isGroup: boolean): PostriderError {
  const why = isGroup
    ? "The profile memory cannot be changed in a group chat; the owner of this home can change it in a direct chat."
    : "Only the owner of this home can change the profile memory.";
  return new PostriderError("not_allowed", `${why} Nothing was changed.`);
}

/** The result always lists the current entries, because they may have changed elsewhere. */
async function applyMemoryChange(
  { store, clock }: ToolContext,
  owner: MemoryOwner,
  change: MemoryChange,
): Promise<string> {
  const before = await store.memory.getMemory({ owner });
  const after = throwIfRefused(await store.memory.changeMemory({ owner, change, now: clock.now() }));
  const did = after.version === before.version ? "The entry exists already." : CHANGE_TEXTS[change.action];
  return `${did} ${formatMemory(after)}`;
}

const CHANGE_TEXTS: Readonly<Record<MemoryChange["action"], string>> = {
  add: "Remembered.",
  replace: "Replaced.",
  remove: "Removed.",
};

function formatMemory({ entries }: Memory): string {
  if (entries.length === 0) return "The memory is empty now.";
  const full = `${countMemoryChars(entries)} of ${MAX_MEMORY_CHARS} characters`;
  return [`The memory now contains (${full}):`, ...entries.map((entry) => `- ${entry}`)].join("\n");
}
