import { PostriderError } from "../core/errors.ts";
import { isModelName } from "../core/model-name.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { type ChatCommand, type ChatCommandContext, ensureCurrent, escapeMarkdown } from "./command.ts";

export const modelChatCommand: ChatCommand = {
  name: "model",
  parameters: "[NAME | PROVIDER:NAME | default]",
  summary: "show or choose the model that answers in this chat",
  async run(context, args) {
    const chosen = (await context.chat.findCurrent())?.conversation.settings.model;
    if (args === "") return { text: formatModel(context, chosen) };
    if (args.toLowerCase() === "default") {
      if (chosen === undefined) return { text: formatModel(context, chosen) };
      await setModel(context, null);
      return { text: `**${escapeMarkdown(context.agent.name)}** answers in this chat again.` };
    }
    if (context.agent.getContextWindow === undefined)
      throw new PostriderError(
        "not_allowed",
        `${context.agent.name} answers here, and has no models to choose from.`,
      );
    if (!isModelName(args))
      throw new PostriderError(
        "invalid_input",
        "Write the model as its provider calls it, in one word, or /model default.",
      );
    await setModel(context, args);
    return {
      text: `From the next message on, **${escapeMarkdown(args)}** answers in this chat, and in this chat only. \`/model default\` goes back.`,
    };
  },
};

async function setModel(context: ChatCommandContext, name: string | null): Promise<void> {
  const { conversation } = await ensureCurrent(context);
  const { store, who } = context;
  const change = { model: name };
  throwIfRefused(
    await store.conversations.changeConversationSettings({
      asker: who,
      conversation: conversation.number,
      change,
      now: context.now(),
    }),
  );
}

function formatModel({ agent }: ChatCommandContext, chosen: string | undefined): string {
  if (chosen === undefined) return `**${escapeMarkdown(agent.name)}** answers here, as configured.`;
  return `**${escapeMarkdown(chosen)}** answers in this chat, chosen instead of ${escapeMarkdown(agent.name)}. \`/model default\` goes back.`;
}
