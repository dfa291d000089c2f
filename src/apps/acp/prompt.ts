import { randomUUID } from "node:crypto";
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk/unstable";
import { parseCommand, spokenText } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { type Message, type Part, text } from "../../core/message.ts";
import type { DataPart } from "../../sessions/message-input.ts";
import { chosenModel } from "../../turns/chosen-model.ts";
import { proposeTitle } from "../../turns/propose-title.ts";
import { saidIn, wordsOf } from "./content.ts";
import { type Editor, who } from "./editor.ts";
import { showInfo, showUsage } from "./show-state.ts";
import type { Thread } from "./thread.ts";

/** What was typed in a thread: a command is done at once; anything else is answered when its turn comes. */
export async function prompt(
  editor: Editor,
  thread: Thread,
  blocks: readonly ContentBlock[],
  signal: AbortSignal,
): Promise<PromptResponse> {
  const command = parseCommand(wordsOf(blocks));
  if (command !== undefined) {
    // Loaded for whoever gives one: the first answer does not wait for it.
    const { giveCommand, isOurs } = await import("./give-command.ts");
    if (isOurs(command)) {
      const more = await giveCommand(editor, thread, command);
      return more === undefined ? { stopReason: "end_turn" } : say(editor, thread, [text(more)], signal);
    }
  }
  const said = saidIn(blocks);
  if (said.every((part) => part.type === "text" && part.text.trim() === ""))
    return { stopReason: "end_turn" };
  return say(editor, thread, spoken(said), signal);
}

/** `//undo` says `/undo`. */
function spoken(said: readonly (Part | DataPart)[]): readonly (Part | DataPart)[] {
  const [first, ...more] = said;
  return first?.type === "text" ? [text(spokenText(first.text)), ...more] : said;
}

async function say(
  editor: Editor,
  thread: Thread,
  said: readonly (Part | DataPart)[],
  signal: AbortSignal,
): Promise<PromptResponse> {
  const { talk, id } = thread;
  if (signal.aborted) return { stopReason: "cancelled" };
  editor.agent(); // whoever has none is told before anything is stored
  const messageId = randomUUID();
  thread.others.said(messageId);
  const { answer, withdraw } = await talk.say(said, messageId);
  editor.made.delete(id);
  const stop = (): void =>
    void withdraw().catch((error: unknown) => editor.log.error({ error }, "a prompt could not be cancelled"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const end = await answer.finally(() => signal.removeEventListener("abort", stop));
  const error = end?.extra?.error;
  await Promise.all([showUsage(editor, thread), showInfo(editor, thread)]);
  if (error !== undefined) throw new PostriderError("agent_failed", String(error));
  const stopReason = reasonOf(end);
  if (stopReason === "end_turn") entitle(editor, thread, id);
  const usage = thread.usage();
  return { stopReason, ...(usage !== undefined && { usage }) };
}

function reasonOf(end: Message | undefined): StopReason {
  return end === undefined || end.origin?.interrupted === true ? "cancelled" : "end_turn";
}

/** Nobody waits for a title. */
function entitle(editor: Editor, thread: Thread, session: string): void {
  const { log, signal } = editor;
  const agent = editor.agent();
  Promise.all([editor.sessions(), chosenModel(editor.store, session)])
    .then(([sessions, model]) => proposeTitle({ agent, sessions, who, model }, session, signal))
    .then(
      () => showInfo(editor, thread),
      (error: unknown) => log.warn({ error }, "no title"),
    );
}
