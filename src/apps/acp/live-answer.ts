import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { type Part, type ToolCall, textPart } from "../../core/message.ts";
import type { TalkEvent } from "../../turns/agent-chat.ts";
import { needsNewMessage } from "../../turns/answer-recorder.ts";
import { toContentBlocks } from "./content.ts";
import { closeCallUpdate, openCallUpdate, type ReplayContext, toPlanUpdate } from "./replay.ts";

type StartedMessage = Parameters<typeof needsNewMessage>[0];
const EMPTY_MESSAGE: StartedMessage = { text: "" };

export interface LiveAnswer {
  handleEvent(event: TalkEvent): SessionUpdate[];
  /** What a call that is about to be made will be called. */
  nextId(call: ToolCall): string;
}

/**
 * What an answer that is written here looks like in the editor while it grows. Messages bear the names that a replay
 * gives them: nobody else writes in the session meanwhile, so their seqs are known before they are stored.
 */
export function liveAnswer(session: string, drawn: ReplayContext): LiveAnswer {
  /** The seq of the message that is being written, and what it holds by now, if anything. */
  let seq = 0;
  let begun: StartedMessage | undefined;
  /** Ids of calls that have no result yet. */
  const called = new Set<string>();

  function closed(): void {
    seq += 1;
    begun = undefined;
  }

  function chunk(kind: "agent_message_chunk" | "agent_thought_chunk", text: string): SessionUpdate[] {
    if (text === "") return [];
    begun = { ...(begun ?? EMPTY_MESSAGE), ...(kind === "agent_message_chunk" && { text }) };
    return [{ sessionUpdate: kind, content: { type: "text", text }, messageId: `${session}:${seq}` }];
  }

  /** A call that was stopped has no result: it must not look as if it still ran. */
  function leftOpen(): SessionUpdate[] {
    const ids = [...called].flatMap((id) => drawn.calls.close(id)?.toolCallId ?? []);
    called.clear();
    return ids.map((toolCallId) => ({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" }));
  }

  function heard(event: TalkEvent): SessionUpdate[] {
    if (event.type === "begun") {
      seq = Math.max(0, ...event.inputs.map((message) => message.seq)) + 1;
      begun = undefined;
      return [];
    }
    if (event.type === "ended" || event.type === "broken") return leftOpen();
    if (begun !== undefined && needsNewMessage(begun, event)) closed();
    switch (event.type) {
      case "text":
        return chunk("agent_message_chunk", event.text);
      case "thought":
        return chunk("agent_thought_chunk", event.text);
      case "plan":
        begun = { ...(begun ?? EMPTY_MESSAGE), plan: event.entries };
        return [toPlanUpdate(event.entries)];
      case "tool_call": {
        called.add(event.call.id);
        const update = openCallUpdate(event.call, seq, drawn);
        closed();
        return [update];
      }
      case "tool_result":
        called.delete(event.id);
        if (begun !== undefined) closed();
        closed();
        return [closeCallUpdate(event, drawn, toAttachmentBlocks(event))];
      case "message":
        if (begun !== undefined) closed();
        return [];
      default:
        return [];
    }
  }

  return { handleEvent: heard, nextId: ({ id }) => drawn.calls.peekNextId(id, seq) };
}

/** What a result holds besides words. Its bytes come with it; a file is told of by its name. */
function toAttachmentBlocks({
  parts,
  blobs = [],
}: Extract<TalkEvent, { type: "tool_result" }>): ContentBlock[] {
  const shown = parts.flatMap((part): Part[] => {
    if (part.type === "text") return [];
    return part.type === "file" ? [textPart(`[file ${part.name ?? part.mimeType}]`)] : [part];
  });
  return toContentBlocks(shown, (hash) => blobs.find((blob) => blob.hash === hash)?.bytes);
}
