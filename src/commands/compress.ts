import { PostriderError } from "../core/errors.ts";
import { compressIfNeeded, formatCompressionCounts } from "../turns/compress.ts";
import { type ChatCommand, requireCurrent } from "./command.ts";

export const compressChatCommand: ChatCommand = {
  name: "compress",
  aliases: ["compact"],
  summary: "summarize the beginning of this session, so that the model reads less",
  isSlow: true,
  async run(context) {
    const { conversation, session } = await requireCurrent(context);
    if (await context.chat.isAnswering(session.id)) {
      throw new PostriderError(
        "session_busy",
        "An answer is being written in this session. Stop it or wait for it first.",
      );
    }
    const { model } = conversation.settings;
    const done = await compressIfNeeded({
      store: context.store,
      agent: context.agent,
      clock: { now: () => context.now() },
      session: session.id,
      asker: context.who,
      share: 0,
      force: true,
      signal: new AbortController().signal,
      ...(model !== undefined && { model }),
      speaker: context.speaker,
    });
    if (done?.outcome === "compressed") {
      return {
        text: `Summed up: ${formatCompressionCounts(done)}. Everything said is kept; /search finds it.`,
        moved: true,
      };
    }
    if (done?.why === "no_model")
      return { text: "No model answers here, so nobody can sum this session up. Nothing was changed." };
    if (done?.why === "too_short")
      return { text: "This session is too short to be summed up. Nothing was changed." };
    throw new PostriderError(
      "agent_failed",
      `The session could not be summed up: ${done?.reason ?? "there is no summary."} Nothing was changed.`,
    );
  },
};
