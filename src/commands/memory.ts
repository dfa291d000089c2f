import { PostriderError } from "../core/errors.ts";
import {
  type Memory,
  type MemoryChange,
  type MemoryOwner,
  MOST_REMEMBERED,
  memoryOfProfile,
  memoryOwnerOf,
  rememberedLength,
} from "../core/memory.ts";
import { chatOf } from "../core/owner.ts";
import { plural } from "../core/plural.ts";
import { unrefused } from "../core/refusal.ts";
import {
  type ChatCommand,
  escaped,
  here,
  madeHere,
  type Place,
  personOf,
  type Reply,
  shortened,
} from "./command.ts";

export const memory: ChatCommand = {
  name: "memory",
  takes: "[add TEXT | forget N | undo]",
  summary: "show or change what the agent remembers here",
  async run(place, args) {
    const [, verb = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
    if (args === "") return show(place);
    if (verb === "add") return add(place, rest);
    if (verb === "forget") return forget(place, rest);
    if (verb === "undo" && rest === "") return undo(place);
    throw new PostriderError(
      "invalid_input",
      "Write /memory, /memory add TEXT, /memory forget N or /memory undo.",
    );
  },
};

async function show(place: Place): Promise<Reply> {
  const memories = await memoriesHere(place);
  let number = 0;
  const sections = memories
    .filter(({ entries }) => entries.length > 0)
    .map(({ owner, entries }) => {
      const rows = entries.map((entry) => {
        number += 1;
        return `${number}. ${escaped(entry)}`;
      });
      const full = `${rememberedLength(entries).toLocaleString("en-US")} of ${MOST_REMEMBERED.toLocaleString("en-US")} characters`;
      return [`The agent remembers ${whose(place, owner)} (${full}):`, "", ...rows].join("\n");
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

async function add(place: Place, words: string): Promise<Reply> {
  if (words === "")
    throw new PostriderError("invalid_input", "Write what to remember, such as /memory add I like tea.");
  const owner =
    chatOf(place.source) === undefined
      ? await ownerHere(place)
      : memoryOwnerOf((await madeHere(place)).session);
  const before = await place.store.memory({ owner });
  const after = await change(place, owner, { action: "add", text: words });
  if (after.version === before.version) return { text: "That is remembered already." };
  return {
    text: `Remembered ${whose(place, owner)}: ${escaped(shortened(after.entries.at(-1) ?? "", 200))}`,
  };
}

async function forget(place: Place, given: string): Promise<Reply> {
  const all = (await memoriesHere(place)).flatMap(({ owner, entries }) =>
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
  await change(place, meant.owner, { action: "remove", old: meant.entry });
  return { text: `Forgotten: ${escaped(shortened(meant.entry, 200))}\n\n\`/memory undo\` brings it back.` };
}

/** The last change of all that can be seen here, whoever made it; again, and it is back. */
async function undo(place: Place): Promise<Reply> {
  const [latest] = (await memoriesHere(place)).toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0));
  if (latest === undefined || latest.version === 0)
    throw new PostriderError("nothing_to_undo", "Nothing was ever remembered here.");
  const after = await asBefore(place, latest);
  const told = after.entries.length === 0 ? "nothing" : plural(after.entries.length, "entry", "entries");
  return {
    text: `What is remembered ${whose(place, latest.owner)} is as it was before the last change: ${told}. Once more brings the change back.`,
  };
}

async function asBefore(place: Place, { owner, version, entries }: Memory): Promise<Memory> {
  const { store } = place;
  const [, before] = await store.memoryVersions({ owner, limit: 2 });
  if (before !== undefined)
    return unrefused(await store.restoreMemory({ owner, version: before.version, now: place.now() }));
  // Before the first change there was nothing.
  let after: Memory = { owner, version, entries };
  for (const old of entries) after = await change(place, owner, { action: "remove", old });
  return after;
}

async function change({ store, now }: Place, owner: MemoryOwner, wanted: MemoryChange): Promise<Memory> {
  return unrefused(await store.changeMemory({ owner, change: wanted, now: now() }));
}

/** What the model is told here of what it remembers; what everyone may know is for the owner to see, where nobody reads along. */
async function memoriesHere(place: Place): Promise<readonly Memory[]> {
  const { store, role, source, talk } = place;
  const profile =
    role === "owner" && chatOf(source) === undefined ? (await talk.look())?.session.profile : undefined;
  const owners = [await ownerHere(place), ...(profile === undefined ? [] : [memoryOfProfile(profile)])];
  return Promise.all(owners.map((owner) => store.memory({ owner })));
}

async function ownerHere(place: Place): Promise<MemoryOwner> {
  const found = await place.talk.look();
  if (found !== undefined) return memoryOwnerOf(found.session);
  return chatOf(place.source) === undefined ? personOf(place) : memoryOwnerOf((await here(place)).session);
}

function whose({ source }: Place, owner: MemoryOwner): string {
  if (owner.startsWith("profile:")) return "for everyone";
  if (chatOf(source) === undefined) return "of you";
  return owner === chatOf(source) ? "of this chat" : "of you in this chat";
}
