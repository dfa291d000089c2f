import { numberIn, promptIn, type Run } from "./conversation.ts";
import type { Update } from "./wire.ts";

/** The shown parts of one prompt and its answer. */
export interface Block {
  readonly number: number;
  /** The ids of the prompt's chunks. An editor does not get its own prompts. */
  readonly prompts: readonly string[];
  readonly runs: readonly Run[];
  /** Every message by kind and id, with its text, in order. */
  readonly messages: ReadonlyMap<string, string>;
  readonly cards: ReadonlyMap<string, Card>;
  /** Marked as incomplete. */
  readonly isStopped: boolean;
}

/** The current state of a call in the editor. */
export interface Card {
  readonly status: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Shown {
  /** In the order of their first update. */
  readonly blocks: readonly Block[];
  /** Violations of the protocol. */
  readonly broken: readonly string[];
  /** Updates that repeat but must not. */
  readonly doubled: readonly string[];
}

/** Updates about the thread, not about messages. */
const STATE = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
]);

export function isSaid({ sessionUpdate }: Update): boolean {
  return !STATE.has(sessionUpdate);
}

export const INTERRUPTED: RegExp = /^Interrupted: no result was stored/;

interface Open {
  prompts: string[];
  runs: Run[];
  messages: Map<string, string>;
  cards: Map<string, Card>;
  callAt: Map<string, number>;
  isStopped: boolean;
}

/** Builds the display of an editor from these updates. */
export function shownBy(updates: readonly Update[]): Shown {
  const blocks = new Map<number, Open>();
  const numberOfCall = new Map<string, number>();
  const [broken, doubled]: [string[], string[]] = [[], []];
  let here: number | undefined;

  function blockOf(update: Update): [number, Open] | undefined {
    const { sessionUpdate, toolCallId } = update;
    const text = textIn(update);
    const number =
      sessionUpdate === "user_message_chunk"
        ? promptIn(text)
        : sessionUpdate === "tool_call_update"
          ? numberOfCall.get(String(toolCallId))
          : isEnd(update)
            ? here
            : numberIn(sessionUpdate === "tool_call" ? JSON.stringify(update.rawInput) : text);
    if (number === undefined) {
      broken.push(`nobody said ${JSON.stringify(update).slice(0, 200)}`);
      return undefined;
    }
    const known = blocks.get(number);
    // Answers do not overlap.
    if (number !== here && known !== undefined)
      broken.push(`${JSON.stringify(update).slice(0, 120)} came when something else was being shown`);
    here = number;
    const block = known ?? newBlock();
    blocks.set(number, block);
    return [number, block];
  }

  for (const update of updates.filter(isSaid)) {
    const [number, block] = blockOf(update) ?? [];
    if (number === undefined || block === undefined) continue;
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        block.prompts.push(String(update.messageId));
        break;
      case "agent_thought_chunk":
        speak(block, "thought", update);
        break;
      case "agent_message_chunk":
        if (isEnd(update)) block.isStopped = true;
        else speak(block, "text", update);
        break;
      case "plan":
        block.runs.push({ kind: "plan", entries: entriesIn(update) });
        break;
      case "tool_call":
        if (numberOfCall.has(String(update.toolCallId)))
          doubled.push(`the call ${update.toolCallId} was shown twice`);
        numberOfCall.set(String(update.toolCallId), number);
        block.callAt.set(String(update.toolCallId), block.runs.length);
        block.runs.push({ kind: "call", name: String(update.name), given: JSON.stringify(update.rawInput) });
        show(block, update);
        break;
      case "tool_call_update":
        show(block, update);
        break;
      default:
        broken.push(`an update of a kind that was never asked for: ${update.sessionUpdate}`);
    }
  }
  for (const [number, { prompts }] of blocks)
    if (prompts.length > 1) doubled.push(`prompt ${number} was shown ${prompts.length} times`);
  return { blocks: [...blocks].map(([number, block]) => ({ number, ...block })), broken, doubled };
}

function newBlock(): Open {
  return {
    prompts: [],
    runs: [],
    messages: new Map(),
    cards: new Map(),
    callAt: new Map(),
    isStopped: false,
  };
}

function speak({ runs, messages }: Open, kind: "text" | "thought", update: Update): void {
  const text = textIn(update);
  const key = `${kind} ${update.messageId}`;
  messages.set(key, (messages.get(key) ?? "") + text);
  const last = runs.at(-1);
  if (last?.kind === kind) runs[runs.length - 1] = { kind, text: last.text + text };
  else runs.push({ kind, text });
}

function show({ runs, cards, callAt }: Open, update: Update): void {
  const { sessionUpdate: _, toolCallId, ...fields } = update;
  const id = String(toolCallId);
  const all = { ...cards.get(id)?.fields, ...fields };
  cards.set(id, { status: String(all.status), fields: all });
  const at = callAt.get(id) ?? -1;
  const call = runs[at];
  if (call?.kind === "call" && hasResult(all)) runs[at] = { ...call, result: resultIn(all) };
}

function hasResult({ status, content }: Readonly<Record<string, unknown>>): boolean {
  if (status === "completed") return true;
  return status === "failed" && !INTERRUPTED.test(lastTextOf(content));
}

function resultIn({ status, rawOutput }: Readonly<Record<string, unknown>>): string {
  const text = (typeof rawOutput === "string" ? rawOutput : JSON.stringify(rawOutput)).trim();
  return status === "failed" ? `failed: ${text}` : text;
}

function lastTextOf(content: unknown): string {
  const blocks = (Array.isArray(content) ? content : []) as { content?: { text?: string } }[];
  return blocks.at(-1)?.content?.text ?? "";
}

function entriesIn(update: Update): string[] {
  const entries = update.entries as { readonly content: string; readonly status: string }[];
  return entries.map(({ content, status }) => `${content} (${status})`);
}

/** The text of an update of any kind. */
function textIn(update: Update): string {
  if (update.sessionUpdate === "plan") return entriesIn(update).join(" ");
  const { text } = (update.content ?? {}) as { readonly text?: unknown };
  return typeof text === "string" ? text : "";
}

/** The mark of an incomplete answer has its own id. */
function isEnd({ sessionUpdate, messageId }: Update): boolean {
  return sessionUpdate === "agent_message_chunk" && String(messageId).endsWith(":end");
}
