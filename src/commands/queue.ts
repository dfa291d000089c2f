import { PostriderError } from "../core/errors.ts";
import { type ChatCommand, escaped, shortened } from "./command.ts";

export const queue: ChatCommand = {
  name: "queue",
  takes: "TEXT",
  summary: "say something for after this answer, without interrupting it",
  inEditors: "What you write while an answer is written waits for its turn here anyway.",
  async run(place, args) {
    if (args === "")
      throw new PostriderError(
        "invalid_input",
        "Write what to say next, such as /queue and then book the train.",
      );
    const current = await place.talk.look();
    const isBusy = current !== undefined && place.talk.isAnswering(current.session.id);
    return {
      text: isBusy ? `Waits for its turn: “${escaped(shortened(args, 60))}”` : "",
      say: args,
      patiently: true,
    };
  },
};
