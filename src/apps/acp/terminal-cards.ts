import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { TalkEvent } from "../../turns/agent-chat.ts";
import type { CallTracker } from "./call-tracker.ts";
import type { TerminalCards } from "./editor-terminal.ts";

export interface ThreadTerminals extends TerminalCards {
  /** To be told of each event after its updates are shown. */
  handleEvent(event: TalkEvent): void;
}

/** Shows terminals in the cards of a thread, and releases each after its card's last update. */
export function terminalCards(calls: CallTracker, show: (update: SessionUpdate) => void): ThreadTerminals {
  const held = new Map<string, () => void>();

  function release(call: string): void {
    held.get(call)?.();
    held.delete(call);
  }

  return {
    showTerminal(call, terminalId) {
      const shown = calls.findOpen(call);
      if (shown !== undefined) shown.terminalId = terminalId;
      const toolCallId = shown?.toolCallId ?? call;
      show({ sessionUpdate: "tool_call_update", toolCallId, content: [{ type: "terminal", terminalId }] });
    },
    scheduleRelease(call, free) {
      if (calls.findOpen(call) === undefined) free();
      else held.set(call, free);
    },
    handleEvent(event) {
      if (event.type === "tool_result") release(event.id);
      if (event.type === "ended" || event.type === "broken")
        for (const call of [...held.keys()]) release(call);
    },
  };
}
