import { MIN_REPORT_INTERVAL_MS, WATCH_MODES, type Watch, type WatchMode } from "../core/process.ts";
import {
  readNumberArgument,
  readTextArgument,
  readTextListArgument,
  type ToolArguments,
} from "./tool-arguments.ts";

/** More would be told all the time. */
export const MOST_PATTERNS = 20;
export const LONGEST_PATTERN = 200;

export interface WatchRequest {
  readonly watch: Watch;
  /** What the agent is to know of it. */
  readonly notes: readonly string[];
}

/** When the chat is to be told of a process, from what the agent asks for. */
export function parseWatchRequest(given: ToolArguments, usual: WatchMode): WatchRequest {
  const notify = readTextArgument(given, "notify");
  const mode = WATCH_MODES.find((known) => known === notify) ?? usual;
  const seconds = readNumberArgument(given, "check_interval");
  const everyMs =
    seconds === undefined ? undefined : Math.max(MIN_REPORT_INTERVAL_MS, Math.round(seconds * 1000));
  const patterns = readTextListArgument(given, "watch_patterns").filter((pattern) => pattern.trim() !== "");
  const watch: Watch = {
    mode,
    ...(everyMs !== undefined && { everyMs }),
    patterns: patterns.slice(0, MOST_PATTERNS).map((pattern) => pattern.slice(0, LONGEST_PATTERN)),
    wakes: given.notify_on_complete === true,
  };
  const isRaised = everyMs !== undefined && everyMs > Math.round((seconds ?? 0) * 1000);
  const raised = `check_interval was raised to ${MIN_REPORT_INTERVAL_MS / 1000} seconds, the least there is.`;
  return { watch, notes: [...(isRaised ? [raised] : []), describeWatch(watch)] };
}

/** What will happen by itself, so that the agent does not wait for what nobody will say. */
function describeWatch({ mode, everyMs, patterns, wakes }: Watch): string {
  const end = mode === "error" ? "of its end if it fails" : "of its end";
  const parts =
    mode === "off"
      ? []
      : [
          ...(mode === "all" && everyMs !== undefined
            ? [`every ${everyMs / 1000} seconds of what it has printed`]
            : []),
          ...(patterns.length > 0 ? ["of lines with one of the patterns"] : []),
          end,
        ];
  const chat =
    parts.length === 0 ? "The chat is told nothing of it." : `The chat is told ${formatList(parts)}.`;
  return wakes ? `${chat} You are told when it ends, and can answer then.` : chat;
}

function formatList(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
