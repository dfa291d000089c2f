import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import { toOneLine } from "../../../core/printable.ts";
import type { Theme } from "./theme.ts";

/** Messages that are stored and pending while an answer is in progress. */
export interface PendingView extends Component {
  add(messageId: string, text: string): void;
  remove(messageId: string): void;
  count(): number;
}

export function pendingView(theme: Theme): PendingView {
  const texts = new Map<string, string>();
  return {
    add: (messageId, text) => void texts.set(messageId, text),
    remove: (messageId) => void texts.delete(messageId),
    count: () => texts.size,
    render: (width) =>
      [...texts.values()].map((text) => truncateToWidth(theme.dim(` pending: ${toOneLine(text)}`), width)),
    invalidate() {},
  };
}
