import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import { pluralize } from "../../../core/pluralize.ts";
import { toPrintable } from "../../../core/printable.ts";
import type { Session } from "../../../core/session.ts";
import type { Theme } from "./theme.ts";

export interface StatusLineState {
  readonly session: Session;
  /** The number of messages that the session shows. */
  readonly length: number;
  readonly agent: string;
  readonly isAnswering: boolean;
  readonly pending: number;
}

/** One line under the input: title, handle, messages, tokens, cost and the running agent. */
export interface StatusLine extends Component {
  set(status: StatusLineState): void;
  /** Replaces the line until the next key. */
  showHint(text: string): void;
}

export function statusLine(theme: Theme): StatusLine {
  let status: StatusLineState | undefined;
  let hint = "";
  return {
    set(next) {
      status = next;
    },
    showHint(text) {
      hint = text;
    },
    render(width) {
      if (hint !== "") return [truncateToWidth(theme.warning(` ${hint}`), width)];
      return status === undefined
        ? [""]
        : [truncateToWidth(theme.dim(` ${formatStatusLine(status)}`), width)];
    },
    invalidate() {},
  };
}

export function formatStatusLine({ session, length, agent, isAnswering, pending }: StatusLineState): string {
  const { totalTokens, costUsd } = session.usage;
  return [
    session.title === undefined ? "untitled" : toPrintable(session.title),
    session.handle,
    pluralize(length, "message"),
    `${abbreviateCount(totalTokens)} ${totalTokens === 1 ? "token" : "tokens"}`,
    ...(costUsd === undefined ? [] : [`$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`]),
    isAnswering ? `${agent} is answering` : agent,
    ...(pending === 0 ? [] : [`${pending} pending`]),
  ].join(" · ");
}

/** 999, 1.2k, 34k, 5.6M: a status line has no room for more. */
function abbreviateCount(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1_000_000, "M"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}${unit}`;
}
