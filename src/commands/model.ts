import { PostriderError } from "../core/errors.ts";
import { isModelName } from "../core/model-name.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { type ChatCommand, type ChatCommandContext, ensureCurrent, escapeMarkdown } from "./command.ts";

export const modelChatCommand: ChatCommand = {
  name: "model",
  parameters: "[NAME | PROVIDER:NAME | default]",
  summary: "show or choose the model that answers in this chat",
  async run(place, args) {
    const chosen = (await place.chat.findCurrent())?.conversation.settings.model;
    if (args === "") return { text: formatModel(place, chosen) };
    if (args.toLowerCase() === "default") {
      if (chosen === undefined) return { text: formatModel(place, chosen) };
      await setModel(place, null);
      return { text: `**${escapeMarkdown(place.agent.name)}** answers in this chat again.` };
    }
    if (place.agent.getContextWindow === undefined)
      throw new PostriderError(
        "not_allowed",
        `${place.agent.name} answers here, and has no models to choose from.`,
      );
    if (!isModelName(args))
      throw new PostriderError(
        "invalid_input",
        "Write the model as its provider calls it, in one word, or /model default.",
      );
    await setModel(place, args);
    return {
      text: `From the next message on, **${escapeMarkdown(args)}** answers in this chat, and in this chat only. \`/model default\` goes back.`,
    };
  },
};

async function setModel(place: ChatCommandContext, name: string | null): Promise<void> {
  const { conversation } = await ensureCurrent(place);
  const { store, who } = place;
  const change = { model: name };
  throwIfRefused(
    await store.conversations.changeConversationSettings({
      asker: who,
      conversation: conversation.number,
      change,
      now: place.now(),
    }),
  );
}

function formatModel({ agent }: ChatCommandContext, chosen: string | undefined): string {
  if (chosen === undefined) return `**${escapeMarkdown(agent.name)}** answers here, as configured.`;
  return `**${escapeMarkdown(chosen)}** answers in this chat, chosen instead of ${escapeMarkdown(agent.name)}. \`/model default\` goes back.`;
}
