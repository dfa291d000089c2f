import type { Message } from "grammy/types";
import { PostriderError } from "../../core/errors.ts";
import { platformTraits } from "../../core/platforms.ts";
import type { Source } from "../../core/source.ts";
import type { MenuEntry, Platform } from "../../ports/platform.ts";
import { type TelegramApi, telegramApi } from "./api.ts";
import { createDispatchPreparer } from "./dispatch-updates.ts";
import { editTelegramMessage } from "./edit.ts";
import { telegramFiles } from "./files.ts";
import { parseConnection, type TelegramOptions } from "./options.ts";
import { toSendOutcome } from "./outcome.ts";
import { pollTelegram } from "./poll.ts";
import { createPollBackOff, retryUntilAnswered } from "./poll-back-off.ts";
import { parseTelegramId, telegramSender, toTelegramChatId } from "./send.ts";
import { systemTiming } from "./timing.ts";

const ASK_MS = 20_000;
const TYPING_MS = 5000;
/** Telegram's limits for a bot: about one message a second in a chat, twenty a minute in a group. */
const DRAFT_MS = { direct: 1100, elsewhere: 3100 };
/** The number of chats for which our last message is remembered. */
const MAX_CHATS = 5000;

/** Telegram, over one bot's long polling. */
export function telegram(options: TelegramOptions): Platform {
  const { requireMention = true, replyTo = "first", log, timing = systemTiming } = options;
  const api = telegramApi(parseConnection(options));
  const out = telegramSender(api, replyTo, log);
  const ourLast = new Map<string, string>();

  return {
    name: "telegram",
    account: api.connection.account,
    traits: platformTraits("telegram"),
    replyMode: replyTo === "all" ? "all" : "first",
    async run(receiver, signal) {
      const backOff = createPollBackOff(timing, log);
      const me = await retryUntilAnswered(backOff, signal, () =>
        api.call((calls, within) => calls.getMe(within), { signal, ms: ASK_MS }),
      );
      if (me === undefined) return;
      const files = telegramFiles(api, timing, log);
      const isOurLast = (message: Message): boolean => {
        const thread = message.is_topic_message === true ? message.message_thread_id : undefined;
        return ourLast.get(formatChatThread(message.chat.id, thread)) === String(message.message_id);
      };
      const prepare = createDispatchPreparer({ api, files, receiver, me, requireMention, log, isOurLast });
      await pollTelegram({ api, receiver, prepare, backOff, timing, log }, signal);
    },
    async send(outbound, signal) {
      const sent = await out.send(outbound, signal);
      if (sent.state === "sent") {
        const { chatId, threadId } = outbound.target;
        const key = formatChatThread(chatId, threadId);
        ourLast.delete(key);
        ourLast.set(key, sent.messageId);
        const [oldest] = ourLast.keys();
        if (ourLast.size > MAX_CHATS && oldest !== undefined) ourLast.delete(oldest);
      }
      return sent;
    },
    edit: (outbound, messageId, signal) => editTelegramMessage(api, outbound, messageId, signal),
    async sendTyping(target, signal) {
      const thread = parseTelegramId(target.threadId);
      const to = {
        chat_id: toTelegramChatId(target.chatId),
        ...(thread !== undefined && { message_thread_id: thread }),
      };
      await api.call((calls, within) => calls.sendChatAction({ ...to, action: "typing" }, within), {
        signal,
        ms: TYPING_MS,
      });
    },
    setMenu: (commands, signal) => setMenu(api, commands, signal),
    getDraftIntervalMs: ({ chatType }: Source) => (chatType === "dm" ? DRAFT_MS.direct : DRAFT_MS.elsewhere),
  };
}

function formatChatThread(chat: string | number, thread: string | number | undefined): string {
  return `${chat}:${thread ?? ""}`;
}

/** Telegram's limit. */
const MAX_COMMANDS = 100;

async function setMenu(api: TelegramApi, commands: readonly MenuEntry[], signal: AbortSignal): Promise<void> {
  const valid = commands
    .filter(({ name, summary }) => /^[a-z0-9_]{1,32}$/.test(name) && summary.trim() !== "")
    .slice(0, MAX_COMMANDS)
    .map(({ name, summary }) => ({
      command: name,
      description: summary.trim().slice(0, 256).toWellFormed(),
    }));
  const answer = await api.call((calls, within) => calls.setMyCommands({ commands: valid }, within), {
    signal,
    ms: ASK_MS,
  });
  if (answer.ok) return;
  const outcome = toSendOutcome(answer.failure);
  const code = outcome.state === "refused" ? "platform_refused" : "platform_down";
  throw new PostriderError(code, `Setting the command menu failed. ${outcome.reason}`);
}
