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

export function memoryTool(hands: ToolContext): Tool {
  const isGroup = "chat" in hands.asker && hands.asker.chat !== undefined;
  const mayTellAll = hands.role === "owner" && !isGroup;
  return {
    name: "memory",
    description: [
      "Keeps what should be known in later sessions, such as who somebody is, what they prefer, and what was agreed. What is remembered already stands in what you were told at the beginning.",
      "Write short facts, one an entry; nothing that holds only today, and no passwords or keys.",
      "Replace or remove what is no longer true.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        action: { type: "string", enum: ["add", "replace", "remove"] },
        target: {
          type: "string",
          enum: ["person", "profile"],
          description: `Whose memory, person unless given: ${describePersonMemory(hands)}; profile is known to everyone who talks with you${mayTellAll ? "" : ", and may not be changed here"}.`,
        },
        text: { type: "string", description: "For add and replace: what to remember." },
        old: { type: "string", description: "For replace and remove: words of the one entry that is meant." },
      },
      required: ["action"],
      additionalProperties: false,
    },
    // It changes rows of our own, in one step: after a crash the change is there or not. Done again, an entry that is there
    // is not added twice, and one that is gone is only not found.
    effect: "none",
    run: (value) =>
      runToolAction(async () => {
        const given = toToolArguments(value);
        const change = parseMemoryChange(given);
        const isForAll = readTextArgument(given, "target") === "profile";
        if (isForAll && !mayTellAll) throw createProfileDeniedError(isGroup);
        const owner = isForAll ? getProfileMemoryOwner(hands.profile) : hands.owner;
        return { parts: [textPart(await applyMemoryChange(hands, owner, change))] } satisfies ToolOutput;
      }),
  };
}

/** Several people may share a session, or each have their own where the others read along. */
function describePersonMemory({ asker, owner }: ToolContext): string {
  const chat = "chat" in asker ? asker.chat : undefined;
  if (chat === undefined) return "person is the memory of the person you talk with";
  const here = "it is used in this chat only, and everyone here may read it";
  return owner === chat
    ? `person is the memory of this chat with several people: ${here}; write who is meant`
    : `person is the memory of whoever you talk with, in this chat with several people: ${here}`;
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
    ? "What everyone may know is not changed in a chat with several people; the owner of this home does that in a direct chat."
    : "Only the owner of this home changes what everyone may know.";
  return new PostriderError("not_allowed", `${why} Nothing was changed.`);
}

/** Whatever became of it, the model is told how it stands: it may have been changed elsewhere meanwhile. */
async function applyMemoryChange(
  { store, clock }: ToolContext,
  owner: MemoryOwner,
  change: MemoryChange,
): Promise<string> {
  const before = await store.memory.getMemory({ owner });
  const after = throwIfRefused(await store.memory.changeMemory({ owner, change, now: clock.now() }));
  const did = after.version === before.version ? "That is remembered already." : CHANGE_TEXTS[change.action];
  return `${did} ${formatMemory(after)}`;
}

const CHANGE_TEXTS: Readonly<Record<MemoryChange["action"], string>> = {
  add: "Remembered.",
  replace: "Replaced.",
  remove: "Removed.",
};

function formatMemory({ entries }: Memory): string {
  if (entries.length === 0) return "Nothing is remembered now.";
  const full = `${countMemoryChars(entries)} of ${MAX_MEMORY_CHARS} characters`;
  return [`This is remembered now (${full}):`, ...entries.map((entry) => `- ${entry}`)].join("\n");
}
