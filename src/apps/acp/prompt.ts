import { randomUUID } from "node:crypto";
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk/unstable";
import { parseCommand, unescapeSlash } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { type Message, type Part, textPart } from "../../core/message.ts";
import type { DataPart } from "../../sessions/message-input.ts";
import { findChosenModel, proposeTitle } from "../../turns/propose-title.ts";
import { extractPromptText, parsePrompt } from "./content.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { showInfo, showUsage } from "./show-state.ts";
import type { Thread } from "./thread.ts";

/** What was typed in a thread: a command is done at once; anything else is answered when its turn comes. */
export async function handlePrompt(
  editor: EditorContext,
  thread: Thread,
  blocks: readonly ContentBlock[],
  signal: AbortSignal,
): Promise<PromptResponse> {
  const command = parseCommand(extractPromptText(blocks));
  if (command !== undefined) {
    // Loaded for whoever gives one: the first answer does not wait for it.
    const { runEditorCommand: giveCommand, isChatCommand: isOurs } = await import("./run-editor-command.ts");
    if (isOurs(editor, command)) {
      const more = await giveCommand(editor, thread, command);
      return more === undefined
        ? { stopReason: "end_turn" }
        : submitPrompt(editor, thread, [textPart(more)], signal);
    }
  }
  const said = parsePrompt(blocks);
  if (said.every((part) => part.type === "text" && part.text.trim() === ""))
    return { stopReason: "end_turn" };
  return submitPrompt(editor, thread, unescapeCommand(said), signal);
}

/** `//undo` says `/undo`. */
function unescapeCommand(said: readonly (Part | DataPart)[]): readonly (Part | DataPart)[] {
  const [first, ...more] = said;
  return first?.type === "text" ? [textPart(unescapeSlash(first.text)), ...more] : said;
}

async function submitPrompt(
  editor: EditorContext,
  thread: Thread,
  said: readonly (Part | DataPart)[],
  signal: AbortSignal,
): Promise<PromptResponse> {
  const { talk, id } = thread;
  if (signal.aborted) return { stopReason: "cancelled" };
  editor.requireAgent(); // whoever has none is told before anything is stored
  const messageId = randomUUID();
  thread.follower.expectOwnPrompt(messageId);
  const { answer, withdraw } = await talk.submit(said, messageId);
  editor.unusedSessions.delete(id);
  const stop = (): void =>
    void withdraw().catch((error: unknown) => editor.log.error({ error }, "a prompt could not be cancelled"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const end = await answer.finally(() => signal.removeEventListener("abort", stop));
  const error = end?.extra?.error;
  await Promise.all([showUsage(editor, thread), showInfo(editor, thread)]);
  if (error !== undefined) throw new PostriderError("agent_failed", String(error));
  const stopReason = getStopReason(end);
  if (stopReason === "end_turn") updateTitle(editor, thread, id);
  const usage = thread.usage();
  return { stopReason, ...(usage !== undefined && { usage }) };
}

function getStopReason(end: Message | undefined): StopReason {
  return end === undefined || end.origin?.interrupted === true ? "cancelled" : "end_turn";
}

/** Nobody waits for a title. */
function updateTitle(editor: EditorContext, thread: Thread, session: string): void {
  const { log, signal } = editor;
  const agent = editor.requireAgent();
  Promise.all([editor.sessions(), findChosenModel(editor.store, session)])
    .then(([sessions, model]) => proposeTitle({ agent, sessions, who: OWNER_ASKER, model }, session, signal))
    .then(
      () => showInfo(editor, thread),
      (error: unknown) => log.warn({ error }, "no title"),
    );
}
