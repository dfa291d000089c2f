import { BUSY_MODES, type BusyMode } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { type ChatCommand, type ChatCommandContext, type Choice, ensureCurrent } from "./command.ts";

/** What becomes of a message that arrives while an answer is written, in words. */
export const BUSY_WORDS: Readonly<Record<BusyMode, string>> = {
  interrupt: "a new message stops the answer and is answered next",
  queue: "new messages wait, and are answered one after the other",
  collect: "new messages wait, and are answered together",
};

export const busyChatCommand: ChatCommand = {
  name: "busy",
  parameters: "[interrupt | queue | collect | default]",
  summary: "what becomes of a message while an answer is written, in this chat",
  onlyIn: "messenger",
  async run(context, args) {
    if (args === "") return { text: await formatBusyMode(context) };
    const wanted = args.toLowerCase();
    const mode = BUSY_MODES.find((name) => name === wanted);
    if (mode === undefined && wanted !== "default") {
      throw new PostriderError(
        "invalid_input",
        `There is no mode "${args.slice(0, 40)}". Write /busy interrupt, /busy queue, /busy collect or /busy default.`,
      );
    }
    const { conversation } = await ensureCurrent(context);
    const change = { asker: context.who, conversation: conversation.number, now: context.now() };
    throwIfRefused(
      await context.store.conversations.changeConversationSettings({
        ...change,
        change: { busy: mode ?? null },
      }),
    );
    const is = mode ?? context.busy;
    return { text: `From now on, in this chat: **${is}**: ${BUSY_WORDS[is]}.` };
  },
  listChoices: async (_, args) => (args === "" ? CHOICES : []),
};

const CHOICES: readonly Choice[] = BUSY_MODES.map((mode) => ({
  line: `/busy ${mode}`,
  label: mode,
  about: BUSY_WORDS[mode],
}));

async function formatBusyMode(context: ChatCommandContext): Promise<string> {
  const chosen = (await context.chat.findCurrent())?.conversation.settings.busy;
  const is = chosen ?? context.busy;
  const by = chosen === undefined ? "as configured" : "chosen for this chat";
  return [
    `While an answer is written: **${is}** (${by}).`,
    ...BUSY_MODES.map((mode) => `- \`/busy ${mode}\` ${BUSY_WORDS[mode]}`),
  ].join("\n");
}
