import { MIN_REPORT_INTERVAL_MS, WATCH_MODES, type Watch, type WatchMode } from "../core/process.ts";
import {
  readNumberArgument,
  readTextArgument,
  readTextListArgument,
  type ToolArguments,
} from "./tool-arguments.ts";

/** The limits of patterns, against a flood of notifications. */
export const MAX_PATTERNS = 20;
export const MAX_PATTERN_LENGTH = 200;

export interface WatchRequest {
  readonly watch: Watch;
  /** Notes for the agent. */
  readonly notes: readonly string[];
}

/** Parses the notification settings of a background process. */
export function parseWatchRequest(args: ToolArguments, defaultMode: WatchMode): WatchRequest {
  const notify = readTextArgument(args, "notify");
  const mode = WATCH_MODES.find((known) => known === notify) ?? defaultMode;
  const seconds = readNumberArgument(args, "check_interval");
  const everyMs =
    seconds === undefined ? undefined : Math.max(MIN_REPORT_INTERVAL_MS, Math.round(seconds * 1000));
  const patterns = readTextListArgument(args, "watch_patterns").filter((pattern) => pattern.trim() !== "");
  const watch: Watch = {
    mode,
    ...(everyMs !== undefined && { everyMs }),
    patterns: patterns.slice(0, MAX_PATTERNS).map((pattern) => pattern.slice(0, MAX_PATTERN_LENGTH)),
    wakes: args.notify_on_complete === true,
  };
  const isRaised = everyMs !== undefined && everyMs > Math.round((seconds ?? 0) * 1000);
  const raised = `check_interval was raised to ${MIN_REPORT_INTERVAL_MS / 1000} seconds, the minimum.`;
  return { watch, notes: [...(isRaised ? [raised] : []), describeWatch(watch)] };
}

/** Describes the notifications, so that the agent does not wait for one that never comes. */
function describeWatch({ mode, everyMs, patterns, wakes }: Watch): string {
  const end = mode === "error" ? "at its end if it fails" : "at its end";
  const parts =
    mode === "off"
      ? []
      : [
          ...(mode === "all" && everyMs !== undefined
            ? [`every ${everyMs / 1000} seconds with new output`]
            : []),
          ...(patterns.length > 0 ? ["for lines with one of the patterns"] : []),
          end,
        ];
  const chat =
    parts.length === 0 ? "The chat gets no notifications." : `The chat is notified ${formatList(parts)}.`;
  return wakes ? `${chat} You are notified when it ends and can answer then.` : chat;
}

function formatList(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
