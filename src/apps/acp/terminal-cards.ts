import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { TalkEvent } from "../../turns/talk.ts";
import type { TerminalCards } from "./editor-terminal.ts";
import type { ShownCalls } from "./shown-calls.ts";

export interface ThreadTerminals extends TerminalCards {
  /** To be told of each event after its updates are shown. */
  heard(event: TalkEvent): void;
}

/** Shows terminals in the cards of a thread, and releases each after its card's last update. */
export function terminalCards(calls: ShownCalls, show: (update: SessionUpdate) => void): ThreadTerminals {
  const held = new Map<string, () => void>();

  function release(call: string): void {
    held.get(call)?.();
    held.delete(call);
  }

  return {
    opened(call, terminalId) {
      const shown = calls.waiting(call);
      if (shown !== undefined) shown.terminalId = terminalId;
      const toolCallId = shown?.toolCallId ?? call;
      show({ sessionUpdate: "tool_call_update", toolCallId, content: [{ type: "terminal", terminalId }] });
    },
    ended(call, free) {
      if (calls.waiting(call) === undefined) free();
      else held.set(call, free);
    },
    heard(event) {
      if (event.type === "tool_result") release(event.id);
      if (event.type === "ended" || event.type === "broken")
        for (const call of [...held.keys()]) release(call);
    },
  };
}
