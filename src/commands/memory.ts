import { PostriderError } from "../core/errors.ts";
import {
  countMemoryChars,
  getMemoryOwner,
  getProfileMemoryOwner,
  MAX_MEMORY_CHARS,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
} from "../core/memory.ts";
import { getChatAudience } from "../core/owner.ts";
import { pluralize } from "../core/pluralize.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type CommandReply,
  ensureCurrent,
  escapeMarkdown,
  getAskerPerson,
  requireCurrent,
  shortenLine,
} from "./command.ts";

export const memoryChatCommand: ChatCommand = {
  name: "memory",
  parameters: "[add TEXT | forget N | undo]",
  summary: "show or change what the agent remembers here",
  async run(context, args) {
    const [, verb = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
    if (args === "") return show(context);
    if (verb === "add") return add(context, rest);
    if (verb === "forget") return forget(context, rest);
    if (verb === "undo" && rest === "") return undo(context);
    throw new PostriderError(
      "invalid_input",
      "Write /memory, /memory add TEXT, /memory forget N or /memory undo.",
    );
  },
};

async function show(context: ChatCommandContext): Promise<CommandReply> {
  const memories = await readMemories(context);
  let number = 0;
  const sections = memories
    .filter(({ entries }) => entries.length > 0)
    .map(({ owner, entries }) => {
      const rows = entries.map((entry) => {
        number += 1;
        return `${number}. ${escapeMarkdown(entry)}`;
      });
      const full = `${countMemoryChars(entries).toLocaleString("en-US")} of ${MAX_MEMORY_CHARS.toLocaleString("en-US")} characters`;
      return [`The agent remembers ${formatOwner(context, owner)} (${full}):`, "", ...rows].join("\n");
    });
  if (sections.length === 0)
    return { text: "Nothing is remembered here yet. `/memory add TEXT` changes that." };
  return {
    text: [
      ...sections,
      "`/memory forget N` takes one out, and `/memory undo` takes the last change back.",
    ].join("\n\n"),
  };
}

async function add(context: ChatCommandContext, words: string): Promise<CommandReply> {
  if (words === "")
    throw new PostriderError("invalid_input", "Write what to remember, such as /memory add I like tea.");
  const owner =
    getChatAudience(context.source) === undefined
      ? await findOwner(context)
      : getMemoryOwner((await ensureCurrent(context)).session);
  const before = await context.store.memory.getMemory({ owner });
  const after = await change(context, owner, { action: "add", text: words });
  if (after.version === before.version) return { text: "That is remembered already." };
  return {
    text: `Remembered ${formatOwner(context, owner)}: ${escapeMarkdown(shortenLine(after.entries.at(-1) ?? "", 200))}`,
  };
}

async function forget(context: ChatCommandContext, given: string): Promise<CommandReply> {
  const all = (await readMemories(context)).flatMap(({ owner, entries }) =>
    entries.map((entry) => ({ owner, entry })),
  );
  const meant = /^\d{1,6}$/.test(given) ? all[Number(given) - 1] : undefined;
  if (meant === undefined) {
    const there =
      all.length === 0
        ? "Nothing is remembered here."
        : `Here ${all.length === 1 ? "is 1 entry" : `are ${all.length} entries`}; /memory numbers them.`;
    throw new PostriderError("not_found", `Write the number of what to forget. ${there}`);
  }
  await change(context, meant.owner, { action: "remove", old: meant.entry });
  return {
    text: `Forgotten: ${escapeMarkdown(shortenLine(meant.entry, 200))}\n\n\`/memory undo\` brings it back.`,
  };
}

/** Undoes the latest change of the memories that are visible here, also a change by somebody else. A second undo restores it. */
async function undo(context: ChatCommandContext): Promise<CommandReply> {
  const [latest] = (await readMemories(context)).toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0));
  if (latest === undefined || latest.version === 0)
    throw new PostriderError("nothing_to_undo", "Nothing was ever remembered here.");
  const after = await restorePrevious(context, latest);
  const told = after.entries.length === 0 ? "nothing" : pluralize(after.entries.length, "entry", "entries");
  return {
    text: `What is remembered ${formatOwner(context, latest.owner)} is as it was before the last change: ${told}. Once more brings the change back.`,
  };
}

async function restorePrevious(
  context: ChatCommandContext,
  { owner, version, entries }: Memory,
): Promise<Memory> {
  const { store } = context;
  const [, before] = await store.memory.listMemoryVersions({ owner, limit: 2 });
  if (before !== undefined)
    return throwIfRefused(
      await store.memory.restoreMemory({ owner, version: before.version, now: context.now() }),
    );
  // Before the first change the memory was empty.
  let after: Memory = { owner, version, entries };
  for (const old of entries) after = await change(context, owner, { action: "remove", old });
  return after;
}

async function change(
  { store, now }: ChatCommandContext,
  owner: MemoryOwner,
  wanted: MemoryChange,
): Promise<Memory> {
  return throwIfRefused(await store.memory.changeMemory({ owner, change: wanted, now: now() }));
}

/** The memories that the model gets here. The owner also sees that of the profile, except in a chat with others. */
async function readMemories(context: ChatCommandContext): Promise<readonly Memory[]> {
  const { store, role, source, chat } = context;
  const profile =
    role === "owner" && getChatAudience(source) === undefined
      ? (await chat.findCurrent())?.session.profile
      : undefined;
  const owners = [
    await findOwner(context),
    ...(profile === undefined ? [] : [getProfileMemoryOwner(profile)]),
  ];
  return Promise.all(owners.map((owner) => store.memory.getMemory({ owner })));
}

async function findOwner(context: ChatCommandContext): Promise<MemoryOwner> {
  const found = await context.chat.findCurrent();
  if (found !== undefined) return getMemoryOwner(found.session);
  return getChatAudience(context.source) === undefined
    ? getAskerPerson(context)
    : getMemoryOwner((await requireCurrent(context)).session);
}

function formatOwner({ source }: ChatCommandContext, owner: MemoryOwner): string {
  if (owner.startsWith("profile:")) return "for everyone";
  if (getChatAudience(source) === undefined) return "of you";
  return owner === getChatAudience(source) ? "of this chat" : "of you in this chat";
}
