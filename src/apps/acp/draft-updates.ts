import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Message } from "../../core/message.ts";
import type { MessageDraft } from "../../core/turn.ts";

type ChunkKind = "agent_message_chunk" | "agent_thought_chunk";

/** The updates of a message that another process is writing. */
export interface DraftUpdates {
  /** The text that was added since the last call. */
  getNewUpdates(draft: MessageDraft): SessionUpdate[];
  /** The updates of the complete message, without the text that was shown before. */
  getRemainingUpdates(message: Message, updates: readonly SessionUpdate[]): readonly SessionUpdate[];
}

export function draftUpdates(session: string): DraftUpdates {
  let seq = 0;
  /** Messages up to this seq were shown completely. */
  let completeSeq = 0;
  let shown: Record<ChunkKind, string> = { agent_message_chunk: "", agent_thought_chunk: "" };

  function takeAdded(kind: ChunkKind, all: string): SessionUpdate[] {
    // Another attempt starts from the beginning. Its text is shown when the message is complete.
    if (!all.startsWith(shown[kind]) || all === shown[kind]) return [];
    const text = all.slice(shown[kind].length);
    shown[kind] = all;
    return [{ sessionUpdate: kind, content: { type: "text", text }, messageId: `${session}:${seq}` }];
  }

  return {
    getNewUpdates({ seq: at, answerDraft }) {
      if (at <= completeSeq) return [];
      if (at !== seq) {
        seq = at;
        shown = { agent_message_chunk: "", agent_thought_chunk: "" };
      }
      return [
        ...takeAdded("agent_thought_chunk", answerDraft.thought),
        ...takeAdded("agent_message_chunk", answerDraft.text),
      ];
    },
    getRemainingUpdates(message, updates) {
      completeSeq = Math.max(completeSeq, message.seq);
      if (message.seq !== seq || message.role !== "assistant") return updates;
      const before = { ...shown };
      return updates.flatMap((update): SessionUpdate[] => {
        const kind = update.sessionUpdate;
        if (kind !== "agent_message_chunk" && kind !== "agent_thought_chunk") return [update];
        if (update.messageId !== `${session}:${seq}` || update.content.type !== "text") return [update];
        const { text } = update.content;
        const had = before[kind];
        before[kind] = "";
        if (!text.startsWith(had)) return [{ ...update, content: { type: "text", text: `\n\n${text}` } }];
        const left = text.slice(had.length);
        return left === "" ? [] : [{ ...update, content: { type: "text", text: left } }];
      });
    },
  };
}
