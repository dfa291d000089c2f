import type { ConversationSettings } from "../core/conversation.ts";
import type { Diagnostics } from "../core/diagnostics.ts";
import { formatHomeOrigin } from "../core/home-channel.ts";
import { getText } from "../core/message.ts";
import { platformTraits } from "../core/platforms.ts";
import { pluralize } from "../core/pluralize.ts";
import { formatClockTime } from "../core/transcript.ts";
import { BUSY_WORDS } from "./busy.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  escapeMarkdown,
  findHomeChannels,
  formatMessageCount,
  formatSessionName,
  formatTimeUntil,
  isEditor,
  isTerminal,
  requireCurrent,
  shortenLine,
} from "./command.ts";
import { countRunningProcesses, formatRunningProcesses } from "./processes.ts";

export const statusChatCommand: ChatCommand = {
  name: "status",
  summary: "this session at a glance; changes nothing",
  isReadOnly: true,
  async run(context) {
    const { conversation, session } = await requireCurrent(context);
    const ask = { asker: context.who, session: session.id };
    const [waiting, diagnostics] = [
      await context.store.inbox.listPending(ask),
      await context.store.sessions.getDiagnostics(ask),
    ];
    const running = await countRunningProcesses(context, conversation.number);
    const when = (at: number): string =>
      `${formatClockTime(at, context.zone)} (${formatTimeUntil(at, context.now())})`;
    const lines = [
      `- session ${formatSessionName(session)}, ${session.id}`,
      `- begun ${when(session.createdAt)}, last spoken ${when(session.lastAt)}`,
      `- ${await formatMessageCount(context, session)}, ${pluralize(session.usage.totalTokens, "token")}`,
      `- agent ${escapeMarkdown(context.agent.name)}, ${(await context.chat.isAnswering(session.id)) ? "answering" : "idle"}`,
      ...formatChosenSettings(context, conversation.settings),
      ...(await formatHomeChannels(context)),
      ...formatUndelivered(diagnostics),
      ...(running === 0 ? [] : [`- ${formatRunningProcesses(running)} here; /processes lists what runs`]),
      ...waiting.map((message) => `- waiting: “${escapeMarkdown(shortenLine(getText(message), 60))}”`),
    ];
    return { text: lines.join("\n") };
  },
};

function formatChosenSettings(context: ChatCommandContext, settings: ConversationSettings): string[] {
  const { busy, model, personality } = settings;
  const mode = busy ?? context.busy;
  return [
    ...(model === undefined ? [] : [`- model ${escapeMarkdown(model)}, chosen for this chat`]),
    ...(personality === undefined
      ? []
      : [`- personality ${escapeMarkdown(personality)}, chosen for this chat`]),
    ...(isTerminal(context) || isEditor(context)
      ? []
      : [
          `- while it answers: ${mode}${busy === undefined ? "" : ", chosen for this chat"} (${BUSY_WORDS[mode]})`,
        ]),
  ];
}

/** For the owner, in a messenger. */
async function formatHomeChannels(context: ChatCommandContext): Promise<string[]> {
  const { platform, chatId } = context.source;
  const homes = (await findHomeChannels(context)).filter((home) => home.platform === platform);
  return homes.map((home) => {
    const which = home.chatId === chatId ? "this chat" : `${escapeMarkdown(home.name)} (\`${home.chatId}\`)`;
    return `- home channel of ${platformTraits(platform).label}: ${which}, ${formatHomeOrigin(home)}`;
  });
}

/** Counts among the newest deliveries; the chat got a notice about older ones at the time. */
function formatUndelivered(diagnostics: Diagnostics | undefined): string[] {
  const dead = (diagnostics?.deliveries ?? []).flatMap(({ status }) =>
    status.state === "dead" ? [status] : [],
  );
  const [newest] = dead;
  if (newest === undefined) return [];
  return [
    `- ${pluralize(dead.length, "message")} could not be delivered: ${escapeMarkdown(shortenLine(newest.lastError, 100))}`,
  ];
}
