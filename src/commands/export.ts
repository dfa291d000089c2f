import { PostriderError } from "../core/errors.ts";
import { formatTranscript } from "../core/transcript.ts";
import { type ChatCommand, requireCurrent } from "./command.ts";

export const exportChatCommand: ChatCommand = {
  name: "export",
  aliases: ["save"],
  parameters: "[md | jsonl]",
  summary: "this session as a document: md to read, jsonl to import again",
  isReadOnly: true,
  async run(context, args) {
    const { session } = await requireCurrent(context);
    if (args !== "" && args !== "md" && args !== "jsonl") {
      throw new PostriderError(
        "invalid_input",
        "Write /export md for reading, or /export jsonl to keep everything.",
      );
    }
    if (args === "jsonl") {
      const whole = await context.sessions.export(context.who, session.id);
      return { text: "", document: { name: `${session.handle}.jsonl`, text: `${JSON.stringify(whole)}\n` } };
    }
    const shown = (await context.sessions.history(context.who, session.id)) ?? [];
    return {
      text: "",
      document: { name: `${session.handle}.md`, text: formatTranscript(session, shown, context.zone) },
    };
  },
};
