import { PostriderError } from "../core/errors.ts";
import { transcript } from "../core/transcript.ts";
import { type ChatCommand, here } from "./command.ts";

export const exportSession: ChatCommand = {
  name: "export",
  aliases: ["save"],
  takes: "[md | jsonl]",
  summary: "this session as a document: md to read, jsonl to import again",
  looks: true,
  async run(place, args) {
    const { session } = await here(place);
    if (args !== "" && args !== "md" && args !== "jsonl") {
      throw new PostriderError(
        "invalid_input",
        "Write /export md for reading, or /export jsonl to keep everything.",
      );
    }
    if (args === "jsonl") {
      const whole = await place.sessions.export(place.who, session.id);
      return { text: "", document: { name: `${session.handle}.jsonl`, text: `${JSON.stringify(whole)}\n` } };
    }
    const shown = (await place.sessions.history(place.who, session.id)) ?? [];
    return {
      text: "",
      document: { name: `${session.handle}.md`, text: transcript(session, shown, place.zone) },
    };
  },
};
