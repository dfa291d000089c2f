import { PostriderError } from "../core/errors.ts";
import { platformTraits } from "../core/platforms.ts";
import { toDisplayText } from "../core/source.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type CommandReply,
  escapeMarkdown,
  findHomeChannels,
} from "./command.ts";

export const sethomeChatCommand: ChatCommand = {
  name: "sethome",
  aliases: ["set-home"],
  parameters: "[clear]",
  summary: "make this chat the home channel of its platform, or clear it",
  onlyIn: "messenger",
  ownerOnly: true,
  async run(context, args) {
    if (args === "clear") return clear(context);
    if (args !== "")
      throw new PostriderError(
        "invalid_input",
        "Write /sethome for this chat, or /sethome clear to forget what was set with it.",
      );
    const { platform, chatId, chatName, userName } = context.source;
    const name = toDisplayText(chatName ?? userName ?? "") ?? chatId;
    await context.store.conversations.setHomeChannel({
      home: { platform, chatId, name },
      now: context.now(),
    });
    return {
      text: `This chat, ${escapeMarkdown(name)} (\`${chatId}\`), is the home channel of ${platformTraits(platform).label} now: messages without another target are sent here. It counts before the configuration; /sethome clear takes it back.`,
    };
  },
};

async function clear(context: ChatCommandContext): Promise<CommandReply> {
  const { platform } = context.source;
  const { label } = platformTraits(platform);
  const wasSet = await context.store.conversations.removeHomeChannel({ platform });
  const [home] = (await findHomeChannels(context)).filter((one) => one.platform === platform);
  const now =
    home === undefined
      ? `${label} has no home channel now.`
      : `The home channel of ${label} is ${escapeMarkdown(home.name)} (\`${home.chatId}\`), from the configuration.`;
  return { text: wasSet ? now : `Nothing was set with /sethome. ${now}` };
}
