import { displayText } from "../../core/source.ts";
import { type ChatCommand, escaped } from "./command.ts";

export const sethome: ChatCommand = {
  name: "sethome",
  aliases: ["set-home"],
  summary: "send here what has no other place to go on this platform",
  only: "messenger",
  ownerOnly: true,
  async run({ store, source, now }) {
    const { platform, chatId, chatName, userName } = source;
    const name = displayText(chatName ?? userName ?? "") ?? chatId;
    await store.setHome({ home: { platform, chatId, name }, now: now() });
    return {
      text: `This chat, ${escaped(name)} (\`${chatId}\`), is the home of ${platform} now: what has no other place to go is sent here.`,
    };
  },
};
