import { PostriderError } from "../core/errors.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type Choice,
  ensureCurrent,
  escapeMarkdown,
  shortenLine,
} from "./command.ts";

const NONE: readonly string[] = ["none", "default", "neutral"];

export const personalityChatCommand: ChatCommand = {
  name: "personality",
  parameters: "[NAME | none]",
  summary: "show or choose who the agent is in this chat",
  // A terminal gives the agent no instructions of its own.
  onlyIn: "messenger",
  async run(context, args) {
    const names = Object.keys(context.personalities);
    const chosen = (await context.chat.findCurrent())?.conversation.settings.personality;
    if (args === "") return { text: formatPersonality(context, chosen) };
    if (NONE.includes(args.toLowerCase())) {
      if (chosen !== undefined) await setPersonality(context, null);
      return { text: "The agent is itself in this chat." };
    }
    const wanted = names.find((name) => name === args) ?? names.find((name) => isSameName(name, args));
    if (wanted === undefined) throw createUnknownError(args, names);
    await setPersonality(context, wanted);
    return {
      text: `From the next message on, the agent is **${escapeMarkdown(wanted)}** in this chat, and in this chat only. \`/personality none\` goes back.`,
    };
  },
  listChoices: async (context, args) => (args === "" ? listPersonalities(context) : []),
};

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

async function setPersonality(context: ChatCommandContext, name: string | null): Promise<void> {
  const { conversation } = await ensureCurrent(context);
  const { store, who } = context;
  const change = { personality: name };
  throwIfRefused(
    await store.conversations.changeConversationSettings({
      asker: who,
      conversation: conversation.number,
      change,
      now: context.now(),
    }),
  );
}

function listPersonalities({ personalities }: ChatCommandContext): readonly Choice[] {
  const all = Object.entries(personalities);
  if (all.length === 0) return [];
  return [...all, ["none", "as it is"] as const].map(([name, words]) => ({
    line: `/personality ${name}`,
    label: name,
    about: shortenLine(words, 60),
  }));
}

function formatPersonality({ personalities }: ChatCommandContext, chosen: string | undefined): string {
  const rows = Object.entries(personalities).map(
    ([name, words]) => `- \`/personality ${name}\` ${escapeMarkdown(shortenLine(words, 60))}`,
  );
  // It may have been taken out of the configuration since.
  const is =
    chosen !== undefined && Object.hasOwn(personalities, chosen) ? `**${escapeMarkdown(chosen)}**` : "itself";
  if (rows.length === 0) return "No personalities are configured, so the agent is itself.";
  return [`In this chat the agent is ${is}.`, ...rows, "- `/personality none` as it is"].join("\n");
}

function createUnknownError(name: string, names: readonly string[]): PostriderError {
  const there = names.length === 0 ? "None are configured." : `There are ${names.join(", ")}, and none.`;
  return new PostriderError("not_found", `There is no personality "${name.slice(0, 60)}". ${there}`);
}
