import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { type Part, type ToolCall, text } from "../../core/message.ts";
import { startsMessage } from "../../turns/answer.ts";
import type { TalkEvent } from "../../turns/talk.ts";
import { blocksWith } from "./content.ts";
import { callUpdate, planUpdate, type Replaying, resultUpdate } from "./replay.ts";

type Begun = Parameters<typeof startsMessage>[0];
const NOTHING: Begun = { text: "" };

export interface Live {
  heard(event: TalkEvent): SessionUpdate[];
  /** What a call that is about to be made will be called. */
  nextId(call: ToolCall): string;
}

/**
 * What an answer that is written here looks like in the editor while it grows. Messages bear the names that a replay
 * gives them: nobody else writes in the session meanwhile, so their seqs are known before they are stored.
 */
export function live(session: string, drawn: Replaying): Live {
  /** The seq of the message that is being written, and what it holds by now, if anything. */
  let seq = 0;
  let begun: Begun | undefined;
  /** Ids of calls that have no result yet. */
  const called = new Set<string>();

  function closed(): void {
    seq += 1;
    begun = undefined;
  }

  function chunk(kind: "agent_message_chunk" | "agent_thought_chunk", text: string): SessionUpdate[] {
    if (text === "") return [];
    begun = { ...(begun ?? NOTHING), ...(kind === "agent_message_chunk" && { text }) };
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
    if (begun !== undefined && startsMessage(begun, event)) closed();
    switch (event.type) {
      case "text":
        return chunk("agent_message_chunk", event.text);
      case "thought":
        return chunk("agent_thought_chunk", event.text);
      case "plan":
        begun = { ...(begun ?? NOTHING), plan: event.entries };
        return [planUpdate(event.entries)];
      case "tool_call": {
        called.add(event.call.id);
        const update = callUpdate(event.call, seq, drawn);
        closed();
        return [update];
      }
      case "tool_result":
        called.delete(event.id);
        if (begun !== undefined) closed();
        closed();
        return [resultUpdate(event, drawn, attachedTo(event))];
      case "message":
        if (begun !== undefined) closed();
        return [];
      default:
        return [];
    }
  }

  return { heard, nextId: ({ id }) => drawn.calls.nextId(id, seq) };
}

/** What a result holds besides words. Its bytes come with it; a file is told of by its name. */
function attachedTo({ parts, blobs = [] }: Extract<TalkEvent, { type: "tool_result" }>): ContentBlock[] {
  const shown = parts.flatMap((part): Part[] => {
    if (part.type === "text") return [];
    return part.type === "file" ? [text(`[file ${part.name ?? part.mimeType}]`)] : [part];
  });
  return blocksWith(shown, (hash) => blobs.find((blob) => blob.hash === hash)?.bytes);
}
