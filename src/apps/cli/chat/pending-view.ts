import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import { toOneLine } from "../../../core/printable.ts";
import type { Theme } from "./theme.ts";

/** What was said while an answer was being written: stored, and shown until its turn has come. */
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
      [...texts.values()].map((text) => truncateToWidth(theme.dim(` waiting: ${toOneLine(text)}`), width)),
    invalidate() {},
  };
}
