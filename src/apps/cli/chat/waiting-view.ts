import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import { onOneLine } from "../../../core/printable.ts";
import type { Theme } from "./theme.ts";

/** What was said while an answer was being written: stored, and shown until its turn has come. */
export interface WaitingView extends Component {
  add(messageId: string, text: string): void;
  remove(messageId: string): void;
  count(): number;
}

export function waitingView(theme: Theme): WaitingView {
  const texts = new Map<string, string>();
  return {
    add: (messageId, text) => void texts.set(messageId, text),
    remove: (messageId) => void texts.delete(messageId),
    count: () => texts.size,
    render: (width) =>
      [...texts.values()].map((text) => truncateToWidth(theme.dim(` waiting: ${onOneLine(text)}`), width)),
    invalidate() {},
  };
}
