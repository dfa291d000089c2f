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

/** Runs a command at once. Any other prompt waits for its turn. */
export async function handlePrompt(
  editor: EditorContext,
  thread: Thread,
  blocks: readonly ContentBlock[],
  signal: AbortSignal,
): Promise<PromptResponse> {
  const command = parseCommand(extractPromptText(blocks));
  if (command !== undefined) {
    // Loaded on first use, so that the first answer does not wait for it.
    const { isChatCommand, runEditorCommand } = await import("./editor-commands.ts");
    if (isChatCommand(editor, command)) {
      const followUp = await runEditorCommand(editor, thread, command);
      return followUp === undefined
        ? { stopReason: "end_turn" }
        : submitPrompt(editor, thread, [textPart(followUp)], signal);
    }
  }
  const parts = parsePrompt(blocks);
  if (parts.every((part) => part.type === "text" && part.text.trim() === ""))
    return { stopReason: "end_turn" };
  return submitPrompt(editor, thread, unescapeCommand(parts), signal);
}

/** `//undo` sends the text `/undo`. */
function unescapeCommand(parts: readonly (Part | DataPart)[]): readonly (Part | DataPart)[] {
  const [first, ...rest] = parts;
  return first?.type === "text" ? [textPart(unescapeSlash(first.text)), ...rest] : parts;
}

async function submitPrompt(
  editor: EditorContext,
  thread: Thread,
  parts: readonly (Part | DataPart)[],
  signal: AbortSignal,
): Promise<PromptResponse> {
  const { id, turns, display } = thread;
  if (signal.aborted) return { stopReason: "cancelled" };
  editor.requireAgent(); // fails before anything is stored
  const messageId = randomUUID();
  display.follower.expectOwnPrompt(messageId);
  const { answer, withdraw } = await turns.chat.submit(parts, messageId);
  editor.unusedSessions.delete(id);
  const stop = (): void =>
    void withdraw().catch((error: unknown) =>
      editor.log.error({ error, session: id }, "the prompt could not be cancelled"),
    );
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const end = await answer.finally(() => signal.removeEventListener("abort", stop));
  const error = end?.extra?.error;
  await Promise.all([showUsage(editor, thread), showInfo(editor, thread)]);
  if (error !== undefined) throw new PostriderError("agent_failed", String(error));
  const stopReason = getStopReason(end);
  if (stopReason === "end_turn") updateTitle(editor, thread, id);
  const usage = turns.getUsage();
  return { stopReason, ...(usage !== undefined && { usage }) };
}

function getStopReason(end: Message | undefined): StopReason {
  return end === undefined || end.origin?.interrupted === true ? "cancelled" : "end_turn";
}

/** Runs in the background: the answer does not wait for a title. */
function updateTitle(editor: EditorContext, thread: Thread, session: string): void {
  const { log, signal } = editor;
  const agent = editor.requireAgent();
  Promise.all([editor.sessions(), findChosenModel(editor.store, session)])
    .then(([sessions, model]) => proposeTitle({ agent, sessions, who: OWNER_ASKER, model }, session, signal))
    .then(
      () => showInfo(editor, thread),
      (error: unknown) => log.warn({ error, session }, "the title of the session could not be proposed"),
    );
}
