import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { type Part, type ToolCall, textPart } from "../../core/message.ts";
import type { TurnEvent } from "../../turns/active-turns.ts";
import { needsNewMessage } from "../../turns/answer-recorder.ts";
import { toContentBlocks } from "./content.ts";
import { closeCallUpdate, openCallUpdate, type ReplayContext, toPlanUpdate } from "./replay.ts";

type StartedMessage = Parameters<typeof needsNewMessage>[0];
const EMPTY_MESSAGE: StartedMessage = { text: "" };

export interface LiveAnswer {
  handleEvent(event: TurnEvent): SessionUpdate[];
  /** The id that the next call will have. */
  nextId(call: ToolCall): string;
}

/**
 * The updates of an answer while it grows. Messages have the same ids as in a replay: during a turn no other process
 * writes to the session, so the seqs are known before the messages are stored.
 */
export function liveAnswer(session: string, context: ReplayContext): LiveAnswer {
  /** The seq of the message in progress, and its content if it has any. */
  let seq = 0;
  let message: StartedMessage | undefined;
  /** Ids of calls without a result. */
  const openCalls = new Set<string>();

  function closeMessage(): void {
    seq += 1;
    message = undefined;
  }

  function toChunk(kind: "agent_message_chunk" | "agent_thought_chunk", text: string): SessionUpdate[] {
    if (text === "") return [];
    message = { ...(message ?? EMPTY_MESSAGE), ...(kind === "agent_message_chunk" && { text }) };
    return [{ sessionUpdate: kind, content: { type: "text", text }, messageId: `${session}:${seq}` }];
  }

  /** A stopped call has no result, and must not look as if it still ran. */
  function failOpenCalls(): SessionUpdate[] {
    const ids = [...openCalls].flatMap((id) => context.calls.close(id)?.toolCallId ?? []);
    openCalls.clear();
    return ids.map((toolCallId) => ({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" }));
  }

  function handleEvent(event: TurnEvent): SessionUpdate[] {
    if (event.type === "started") {
      seq = Math.max(0, ...event.inputs.map((input) => input.seq)) + 1;
      message = undefined;
      return [];
    }
    if (event.type === "ended" || event.type === "turn_failed") return failOpenCalls();
    if (message !== undefined && needsNewMessage(message, event)) closeMessage();
    switch (event.type) {
      case "text":
        return toChunk("agent_message_chunk", event.text);
      case "thought":
        return toChunk("agent_thought_chunk", event.text);
      case "plan":
        message = { ...(message ?? EMPTY_MESSAGE), plan: event.entries };
        return [toPlanUpdate(event.entries)];
      case "tool_call": {
        openCalls.add(event.call.id);
        const update = openCallUpdate(event.call, seq, context);
        closeMessage();
        return [update];
      }
      case "tool_result":
        openCalls.delete(event.id);
        if (message !== undefined) closeMessage();
        closeMessage();
        return [closeCallUpdate(event, context, toAttachmentBlocks(event))];
      case "message":
        if (message !== undefined) closeMessage();
        return [];
      default:
        return [];
    }
  }

  return { handleEvent, nextId: ({ id }) => context.calls.peekNextId(id, seq) };
}

/** The parts of a result that are not text. A file is shown by its name only. */
function toAttachmentBlocks({
  parts,
  blobs = [],
}: Extract<TurnEvent, { type: "tool_result" }>): ContentBlock[] {
  const shown = parts.flatMap((part): Part[] => {
    if (part.type === "text") return [];
    return part.type === "file" ? [textPart(`[file ${part.name ?? part.mimeType}]`)] : [part];
  });
  return toContentBlocks(shown, (hash) => blobs.find((blob) => blob.hash === hash)?.bytes);
}
