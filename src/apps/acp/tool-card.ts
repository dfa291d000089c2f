import { relative } from "node:path";
import type {
  ToolCall as AcpToolCall,
  ContentBlock,
  ToolCallContent,
} from "@agentclientprotocol/sdk/unstable";
import { fenced } from "../../core/fence.ts";
import { type Part, type ToolCall, textOf } from "../../core/message.ts";
import { plural } from "../../core/plural.ts";
import { type OldText, UNKNOWN } from "./old-text.ts";
import { boundedData, cut, cutResult, oneLine } from "./short-text.ts";
import { actionOf, type ToolAction } from "./tool-action.ts";
import {
  absolute,
  editsIn,
  type Given,
  givenIn,
  locationsIn,
  moveIn,
  patchIn,
  pathIn,
  wordIn,
  writtenIn,
} from "./tool-arguments.ts";

/** How a call looks before it has a result. */
export type ToolCallFields = Required<Pick<AcpToolCall, "title" | "kind" | "content" | "locations">> & {
  name: string;
  rawInput?: unknown;
};

/** What an editor is told when the result is there. Its content replaces the card's, so that is said again. */
export interface ToolOutcomeFields {
  status: "completed" | "failed";
  content: ToolCallContent[];
  rawOutput?: unknown;
}

/** What a card has shown that its call does not say. */
export interface CardState {
  readonly old?: OldText;
  readonly terminalId?: string | undefined;
}

const LONGEST_TITLE = 119;
const LONGEST_COMMAND = 80;
const LONGEST_GOAL = 60;
/** Half a change would be taken for the whole, so a longer one is told of instead. */
const LONGEST_DIFF = 128 * 1024;
const MOST_DIFFS = 50;

/** `old` is what the file held that a call writes. */
export function toolCard(call: ToolCall, cwd: string | undefined, old: OldText = null): ToolCallFields {
  const given = givenIn(call.arguments);
  const action = actionOf(call.name, given);
  const title = titleOf(action, given, cwd);
  return {
    title: title === "" ? "Tool" : title,
    name: call.name,
    kind: action.kind,
    locations: hasPlace(action) ? locationsIn(given, action.act === "move", baseOf(action, cwd)) : [],
    content: contentOf(action, given, cwd, old),
    ...(call.arguments !== undefined && { rawInput: boundedData(given) }),
  };
}

/**
 * `attached` is what the parts that are no text look like, where their bytes were read; else they are told of by name.
 * A change that failed was not made: its card shows why, and no longer the change.
 */
export function toolOutcome(
  call: ToolCall | undefined,
  parts: readonly Part[],
  failed: boolean,
  cwd: string | undefined,
  attached: readonly ContentBlock[] = parts.flatMap(named),
  { old = null, terminalId }: CardState = {},
): ToolOutcomeFields {
  const given = givenIn(call?.arguments);
  const action = actionOf(call?.name ?? "", given);
  const output = textOf({ parts });
  const isVerbatim = action.kind === "execute" || action.kind === "read" || action.kind === "search";
  return {
    status: failed ? "failed" : "completed",
    content: [
      ...(failed && action.kind === "edit" ? [] : contentOf(action, given, cwd, old)),
      ...(terminalId === undefined ? [] : [{ type: "terminal", terminalId } as const]),
      // A terminal shows the output itself.
      ...(output === "" || terminalId !== undefined ? [] : [said(shortened(output, isVerbatim))]),
      ...attached.map((content): ToolCallContent => ({ type: "content", content })),
    ],
    ...(output !== "" && { rawOutput: boundedData(output) }),
  };
}

function hasPlace({ act, kind }: ToolAction): boolean {
  return act === "other" || (kind !== "execute" && kind !== "fetch" && kind !== "think");
}

/** What a relative path starts from. A server's paths may be of its own world, and so may those of tools we do not know. */
function baseOf({ act, server }: ToolAction, cwd: string | undefined): string | undefined {
  return server !== undefined || act === "other" ? undefined : cwd;
}

function titleOf(action: ToolAction, given: Given, cwd: string | undefined): string {
  const { act, tool, server } = action;
  const what = oneLine(phrase(action, given, cwd) ?? "");
  const words = [server ?? "", act === "other" || what === "" ? tool : "", what].map(oneLine);
  return cut(words.filter(Boolean).join(": "), LONGEST_TITLE);
}

/** What is done to what, in words; nothing where the arguments do not say. */
function phrase(action: ToolAction, given: Given, cwd: string | undefined): string | undefined {
  const about = (verb: string, object: string | undefined, most = LONGEST_TITLE): string | undefined =>
    object === undefined ? undefined : `${verb} ${cut(oneLine(object), most)}`;
  const place = placed(pathIn(given), cwd);
  switch (action.act) {
    case "run": {
      const command = commandIn(given);
      return command === undefined ? undefined : cut(oneLine(command), LONGEST_COMMAND);
    }
    case "process":
      return about("process", wordIn(given, ["action", "command", "session_id", "id"]), LONGEST_COMMAND);
    case "read":
      return about("Read", place);
    case "list":
      return about("List", place);
    case "write":
      return about("Write", place);
    case "edit":
      return about("Edit", place);
    case "delete":
      return about("Delete", place);
    case "move": {
      const [from = "it", to = "another place"] = moveIn(given).map((path) => placed(path, cwd));
      return about("Move", `${from} to ${to}`);
    }
    case "search":
      return about("Search for", wordIn(given, ["pattern", "query", "regex", "q", "glob", "name"]) ?? place);
    case "search_web":
      return about("Search the web for", wordIn(given, ["query", "q", "search_term"]));
    case "fetch":
      return about("Fetch", wordIn(given, ["url", "urls", "uri"]));
    case "delegate":
      return about("Delegate:", wordIn(given, ["goal", "description", "task", "prompt"]), LONGEST_GOAL);
    case "think":
      return undefined;
    default:
      return wordIn(given, ["action", "query", "url", "title", "name", "path"]);
  }
}

/** As seen from the session's folder, where it is within it. */
function placed(path: string | undefined, cwd: string | undefined): string | undefined {
  if (path === undefined || cwd === undefined) return path;
  const whole = absolute(path, cwd);
  if (whole === undefined) return path;
  const within = relative(cwd, whole);
  if (within === "") return ".";
  return within.startsWith("..") ? whole : within;
}

function commandIn(given: Given): string | undefined {
  return wordIn(given, ["command", "cmd", "code", "script", "raw"]);
}

function contentOf(
  action: ToolAction,
  given: Given,
  cwd: string | undefined,
  old: OldText,
): ToolCallContent[] {
  const { act } = action;
  if (act === "run") {
    const command = commandIn(given) ?? "";
    // The title holds one short line; whoever is asked whether it may run must be able to read all of it.
    const isWhole = oneLine(command) === command && command.length <= LONGEST_COMMAND;
    return isWhole ? [] : [said(shortened(command, true))];
  }
  if (act !== "write" && act !== "edit") return [];
  const edits =
    act === "write"
      ? writtenIn(given).map((edit) => ({ ...edit, oldText: old === UNKNOWN ? null : old }))
      : editsIn(given);
  const path = pathIn(given);
  const patch = patchIn(given);
  if (path === undefined || edits.length === 0) {
    return patch === undefined ? [] : [said(shortened(patch, true))];
  }
  const length = edits.reduce((sum, edit) => sum + edit.newText.length + (edit.oldText?.length ?? 0), 0);
  if (length > LONGEST_DIFF || edits.length > MOST_DIFFS) {
    return [
      said(
        `The change has ${plural(length, "character")} in ${plural(edits.length, "place")}: too long to show here.`,
      ),
    ];
  }
  // A difference from nothing would say that the file is new.
  if (act === "write" && old === UNKNOWN) return edits.map(({ newText }) => said(shortened(newText, true)));
  const place = absolute(path, baseOf(action, cwd)) ?? path;
  return edits.map((edit): ToolCallContent => ({ type: "diff", path: place, ...edit }));
}

function shortened(text: string, isVerbatim: boolean): string {
  const { text: shown, note } = cutResult(text);
  const body = isVerbatim ? fenced(shown) : shown;
  return note === undefined ? body : `${body}\n${note}`;
}

function said(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

function named(part: Part): ContentBlock[] {
  if (part.type === "text") return [];
  const name = part.type === "resource" ? part.uri : (part.name ?? part.mimeType);
  return [{ type: "text", text: `[${part.type} ${name}]` }];
}
