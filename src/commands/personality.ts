import { PostriderError } from "../core/errors.ts";
import { unrefused } from "../core/refusal.ts";
import { type ChatCommand, type Choice, escaped, madeHere, type Place, shortened } from "./command.ts";

const NONE: readonly string[] = ["none", "default", "neutral"];

export const personality: ChatCommand = {
  name: "personality",
  takes: "[NAME | none]",
  summary: "show or choose who the agent is in this chat",
  // A terminal gives the agent no instructions of its own.
  only: "messenger",
  async run(place, args) {
    const names = Object.keys(place.personalities);
    const chosen = (await place.talk.look())?.conversation.settings.personality;
    if (args === "") return { text: shown(place, chosen) };
    if (NONE.includes(args.toLowerCase())) {
      if (chosen !== undefined) await choose(place, null);
      return { text: "The agent is itself in this chat." };
    }
    const wanted = names.find((name) => name === args) ?? names.find((name) => same(name, args));
    if (wanted === undefined) throw unknown(args, names);
    await choose(place, wanted);
    return {
      text: `From the next message on, the agent is **${escaped(wanted)}** in this chat, and in this chat only. \`/personality none\` goes back.`,
    };
  },
  choose: async (place, args) => (args === "" ? choices(place) : []),
};

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

async function choose(place: Place, name: string | null): Promise<void> {
  const { conversation } = await madeHere(place);
  const { store, who } = place;
  const change = { personality: name };
  unrefused(await store.choose({ asker: who, conversation: conversation.number, change, now: place.now() }));
}

function choices({ personalities }: Place): readonly Choice[] {
  const all = Object.entries(personalities);
  if (all.length === 0) return [];
  return [...all, ["none", "as it is"] as const].map(([name, words]) => ({
    line: `/personality ${name}`,
    label: name,
    about: shortened(words, 60),
  }));
}

function shown({ personalities }: Place, chosen: string | undefined): string {
  const rows = Object.entries(personalities).map(
    ([name, words]) => `- \`/personality ${name}\` ${escaped(shortened(words, 60))}`,
  );
  // It may have been taken out of the configuration since.
  const is =
    chosen !== undefined && Object.hasOwn(personalities, chosen) ? `**${escaped(chosen)}**` : "itself";
  if (rows.length === 0) return "No personalities are configured, so the agent is itself.";
  return [`In this chat the agent is ${is}.`, ...rows, "- `/personality none` as it is"].join("\n");
}

function unknown(name: string, names: readonly string[]): PostriderError {
  const there = names.length === 0 ? "None are configured." : `There are ${names.join(", ")}, and none.`;
  return new PostriderError("not_found", `There is no personality "${name.slice(0, 60)}". ${there}`);
}
