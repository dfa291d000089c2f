import { PostriderError } from "../core/errors.ts";
import { type ChatCommand, escaped, shortened } from "./command.ts";

export const background: ChatCommand = {
  name: "background",
  aliases: ["bg"],
  takes: "PROMPT",
  summary: "have something done in a session of its own; the answer comes here",
  only: "messenger",
  async run(place, args) {
    if (args === "")
      throw new PostriderError(
        "invalid_input",
        "Write what is to be done, such as /background sum up the news of today.",
      );
    if (place.background === undefined)
      throw new PostriderError(
        "not_allowed",
        "No answer can be delivered here later. Say it without /background.",
      );
    const { handle } = await place.background(args);
    return { text: `Begun in \`${handle}\`: “${escaped(shortened(args, 60))}”. The answer comes here.` };
  },
};
