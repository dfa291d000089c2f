import { PostriderError } from "../core/errors.ts";
import { pluralize } from "../core/pluralize.ts";
import { type ChatCommand, type ChatCommandContext, isTerminal } from "./command.ts";
import { countRunningProcesses, formatRunningProcesses } from "./processes.ts";
import { leaveSession } from "./switch-session.ts";

export const stopChatCommand: ChatCommand = {
  name: "stop",
  parameters: "[all]",
  summary: "stop the answer that is being written; all: what waits, too",
  async run(context, args) {
    if (args !== "" && args !== "all")
      throw new PostriderError(
        "invalid_input",
        "Write /stop for the answer, or /stop all for what waits as well.",
      );
    const found = await context.chat.findCurrent();
    if (found === undefined) return { text: NOTHING };
    const { number } = found.conversation;
    if (args === "all") {
      const left = (await leaveSession(context, number)).trim();
      const said = left === "" ? "Nothing is being answered, and nothing waits." : left;
      return { text: `${said}${await formatStillRunning(context, number)}` };
    }
    // Counted before: the end of an answer takes up what comes next.
    const waiting = await countPending(context, found.session.id, number);
    // A terminal answers nothing but its own, though perhaps what was said in another.
    const stopped = await context.chat.stop(isTerminal(context) ? undefined : number);
    const rest =
      waiting === 0
        ? ""
        : ` ${pluralize(waiting, "message")} ${waiting === 1 ? "waits" : "wait"}; /stop all drops ${waiting === 1 ? "it" : "them"}, too.`;
    return { text: `${stopped ? "Stopped." : NOTHING}${rest}${await formatStillRunning(context, number)}` };
  },
};

const NOTHING = "Nothing is being answered.";

/** What was started in the background goes on. */
async function formatStillRunning(context: ChatCommandContext, conversation: number): Promise<string> {
  const count = await countRunningProcesses(context, conversation);
  return count === 0
    ? ""
    : ` ${formatRunningProcesses(count)} on; /processes lists ${count === 1 ? "it" : "them"}.`;
}

/** Of this conversation alone: others may speak in the same session. */
async function countPending(
  { store, who }: ChatCommandContext,
  session: string,
  conversation: number,
): Promise<number> {
  const around = await store.sessions.getDiagnostics({ asker: who, session });
  return around?.conversations.find(({ number }) => number === conversation)?.waiting ?? 0;
}
