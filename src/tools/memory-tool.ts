import { PostriderError } from "../core/errors.ts";
import {
  type Memory,
  type MemoryChange,
  type MemoryOwner,
  MOST_REMEMBERED,
  memoryOfProfile,
  rememberedLength,
} from "../core/memory.ts";
import { text } from "../core/message.ts";
import { unrefused } from "../core/refusal.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { type Given, givenIn, outputOf, textIn } from "./given.ts";
import type { Hands } from "./hands.ts";

export function memoryTool(hands: Hands): Tool {
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
          description: `Whose memory, person unless given: ${whosePerson(hands)}; profile is known to everyone who talks with you${mayTellAll ? "" : ", and may not be changed here"}.`,
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
      outputOf(async () => {
        const given = givenIn(value);
        const change = changeIn(given);
        const isForAll = textIn(given, "target") === "profile";
        if (isForAll && !mayTellAll) throw notForAll(isGroup);
        const owner = isForAll ? memoryOfProfile(hands.profile) : hands.owner;
        return { parts: [text(await changed(hands, owner, change))] } satisfies ToolOutput;
      }),
  };
}

/** Several people may share a session, or each have their own where the others read along. */
function whosePerson({ asker, owner }: Hands): string {
  const chat = "chat" in asker ? asker.chat : undefined;
  if (chat === undefined) return "person is the memory of the person you talk with";
  const here = "it is used in this chat only, and everyone here may read it";
  return owner === chat
    ? `person is the memory of this chat with several people: ${here}; write who is meant`
    : `person is the memory of whoever you talk with, in this chat with several people: ${here}`;
}

function changeIn(given: Given): MemoryChange {
  const [words, old] = [textIn(given, "text") ?? "", textIn(given, "old") ?? ""];
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

function notForAll(isGroup: boolean): PostriderError {
  const why = isGroup
    ? "What everyone may know is not changed in a chat with several people; the owner of this home does that in a direct chat."
    : "Only the owner of this home changes what everyone may know.";
  return new PostriderError("not_allowed", `${why} Nothing was changed.`);
}

/** Whatever became of it, the model is told how it stands: it may have been changed elsewhere meanwhile. */
async function changed({ store, clock }: Hands, owner: MemoryOwner, change: MemoryChange): Promise<string> {
  const before = await store.memory({ owner });
  const after = unrefused(await store.changeMemory({ owner, change, now: clock.now() }));
  const did = after.version === before.version ? "That is remembered already." : DONE[change.action];
  return `${did} ${standing(after)}`;
}

const DONE: Readonly<Record<MemoryChange["action"], string>> = {
  add: "Remembered.",
  replace: "Replaced.",
  remove: "Removed.",
};

function standing({ entries }: Memory): string {
  if (entries.length === 0) return "Nothing is remembered now.";
  const full = `${rememberedLength(entries)} of ${MOST_REMEMBERED} characters`;
  return [`This is remembered now (${full}):`, ...entries.map((entry) => `- ${entry}`)].join("\n");
}
