import { PostriderError } from "../core/errors.ts";
import { plural } from "../core/plural.ts";
import { type ChatCommand, isTerminal, type Place } from "./command.ts";
import { leaveSession } from "./leave-session.ts";
import { runningHere, runningWords } from "./processes.ts";

export const stop: ChatCommand = {
  name: "stop",
  takes: "[all]",
  summary: "stop the answer that is being written; all: what waits, too",
  async run(place, args) {
    if (args !== "" && args !== "all")
      throw new PostriderError(
        "invalid_input",
        "Write /stop for the answer, or /stop all for what waits as well.",
      );
    const found = await place.talk.look();
    if (found === undefined) return { text: NOTHING };
    const { number } = found.conversation;
    if (args === "all") {
      const left = (await leaveSession(place, number)).trim();
      const said = left === "" ? "Nothing is being answered, and nothing waits." : left;
      return { text: `${said}${await stillRunning(place, number)}` };
    }
    // Counted before: the end of an answer takes up what comes next.
    const waiting = await waitingIn(place, found.session.id, number);
    // A terminal answers nothing but its own, though perhaps what was said in another.
    const stopped = await place.talk.stop(isTerminal(place) ? undefined : number);
    const rest =
      waiting === 0
        ? ""
        : ` ${plural(waiting, "message")} ${waiting === 1 ? "waits" : "wait"}; /stop all drops ${waiting === 1 ? "it" : "them"}, too.`;
    return { text: `${stopped ? "Stopped." : NOTHING}${rest}${await stillRunning(place, number)}` };
  },
};

const NOTHING = "Nothing is being answered.";

/** What was started in the background goes on. */
async function stillRunning(place: Place, conversation: number): Promise<string> {
  const count = await runningHere(place, conversation);
  return count === 0 ? "" : ` ${runningWords(count)} on; /processes lists ${count === 1 ? "it" : "them"}.`;
}

/** Of this conversation alone: others may speak in the same session. */
async function waitingIn({ store, who }: Place, session: string, conversation: number): Promise<number> {
  const around = await store.surroundings({ asker: who, session });
  return around?.conversations.find(({ number }) => number === conversation)?.waiting ?? 0;
}
