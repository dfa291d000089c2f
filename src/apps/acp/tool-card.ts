import { relative } from "node:path";
import type {
  ToolCall as AcpToolCall,
  ContentBlock,
  ToolCallContent,
} from "@agentclientprotocol/sdk/unstable";
import { fenceCode } from "../../core/fence.ts";
import { getText, type Part, type ToolCall } from "../../core/message.ts";
import { pluralize } from "../../core/pluralize.ts";
import {
  type CallArguments,
  findCallArgument,
  findCallEdits,
  findCallLocations,
  findCallPatch,
  findCallPath,
  findCallWrites,
  findMovePaths,
  parseCallArguments,
  resolveCallPath,
} from "./call-arguments.ts";
import { type OldText, UNKNOWN_TEXT } from "./old-text.ts";
import { classifyTool, type ToolAction } from "./tool-action.ts";
import { limitDataSize, toSingleLine, truncateResult, truncateText } from "./truncate-text.ts";

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
  readonly oldText?: OldText;
  readonly terminalId?: string | undefined;
}

const MAX_CARD_TITLE_LENGTH = 119;
const MAX_COMMAND_LENGTH = 80;
const MAX_GOAL_LENGTH = 60;
/** Half a change would be taken for the whole, so a longer one is told of instead. */
const MAX_DIFF_LENGTH = 128 * 1024;
const MAX_DIFFS = 50;

/** `old` is what the file held that a call writes. */
export function buildToolCard(call: ToolCall, cwd: string | undefined, old: OldText = null): ToolCallFields {
  const given = parseCallArguments(call.arguments);
  const action = classifyTool(call.name, given);
  const title = formatTitle(action, given, cwd);
  return {
    title: title === "" ? "Tool" : title,
    name: call.name,
    kind: action.kind,
    locations: hasLocation(action)
      ? findCallLocations(given, action.operation === "move", getBaseFolder(action, cwd))
      : [],
    content: buildContent(action, given, cwd, old),
    ...(call.arguments !== undefined && { rawInput: limitDataSize(given) }),
  };
}

/**
 * `attached` is what the parts that are no text look like, where their bytes were read; else they are told of by name.
 * A change that failed was not made: its card shows why, and no longer the change.
 */
export function buildToolOutcome(
  call: ToolCall | undefined,
  parts: readonly Part[],
  failed: boolean,
  cwd: string | undefined,
  attached: readonly ContentBlock[] = parts.flatMap(toNameBlocks),
  { oldText = null, terminalId }: CardState = {},
): ToolOutcomeFields {
  const given = parseCallArguments(call?.arguments);
  const action = classifyTool(call?.name ?? "", given);
  const output = getText({ parts });
  const isVerbatim = action.kind === "execute" || action.kind === "read" || action.kind === "search";
  return {
    status: failed ? "failed" : "completed",
    content: [
      ...(failed && action.kind === "edit" ? [] : buildContent(action, given, cwd, oldText)),
      ...(terminalId === undefined ? [] : [{ type: "terminal", terminalId } as const]),
      // A terminal shows the output itself.
      ...(output === "" || terminalId !== undefined ? [] : [toTextContent(shortenText(output, isVerbatim))]),
      ...attached.map((content): ToolCallContent => ({ type: "content", content })),
    ],
    ...(output !== "" && { rawOutput: limitDataSize(output) }),
  };
}

function hasLocation({ operation, kind }: ToolAction): boolean {
  return operation === "other" || (kind !== "execute" && kind !== "fetch" && kind !== "think");
}

/** What a relative path starts from. A server's paths may be of its own world, and so may those of tools we do not know. */
function getBaseFolder({ operation, server }: ToolAction, cwd: string | undefined): string | undefined {
  return server !== undefined || operation === "other" ? undefined : cwd;
}

function formatTitle(action: ToolAction, given: CallArguments, cwd: string | undefined): string {
  const { operation, tool, server } = action;
  const what = toSingleLine(describeAction(action, given, cwd) ?? "");
  const words = [server ?? "", operation === "other" || what === "" ? tool : "", what].map(toSingleLine);
  return truncateText(words.filter(Boolean).join(": "), MAX_CARD_TITLE_LENGTH);
}

/** What is done to what, in words; nothing where the arguments do not say. */
function describeAction(
  action: ToolAction,
  given: CallArguments,
  cwd: string | undefined,
): string | undefined {
  const about = (
    verb: string,
    object: string | undefined,
    most = MAX_CARD_TITLE_LENGTH,
  ): string | undefined =>
    object === undefined ? undefined : `${verb} ${truncateText(toSingleLine(object), most)}`;
  const place = toRelativePath(findCallPath(given), cwd);
  switch (action.operation) {
    case "run": {
      const command = findCommandLine(given);
      return command === undefined ? undefined : truncateText(toSingleLine(command), MAX_COMMAND_LENGTH);
    }
    case "process":
      return about(
        "process",
        findCallArgument(given, ["action", "command", "session_id", "id"]),
        MAX_COMMAND_LENGTH,
      );
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
      const [from = "it", to = "another place"] = findMovePaths(given).map((path) =>
        toRelativePath(path, cwd),
      );
      return about("Move", `${from} to ${to}`);
    }
    case "search":
      return about(
        "Search for",
        findCallArgument(given, ["pattern", "query", "regex", "q", "glob", "name"]) ?? place,
      );
    case "search_web":
      return about("Search the web for", findCallArgument(given, ["query", "q", "search_term"]));
    case "fetch":
      return about("Fetch", findCallArgument(given, ["url", "urls", "uri"]));
    case "delegate":
      return about(
        "Delegate:",
        findCallArgument(given, ["goal", "description", "task", "prompt"]),
        MAX_GOAL_LENGTH,
      );
    case "think":
      return undefined;
    default:
      return findCallArgument(given, ["action", "query", "url", "title", "name", "path"]);
  }
}

/** As seen from the session's folder, where it is within it. */
function toRelativePath(path: string | undefined, cwd: string | undefined): string | undefined {
  if (path === undefined || cwd === undefined) return path;
  const whole = resolveCallPath(path, cwd);
  if (whole === undefined) return path;
  const within = relative(cwd, whole);
  if (within === "") return ".";
  return within.startsWith("..") ? whole : within;
}

function findCommandLine(given: CallArguments): string | undefined {
  return findCallArgument(given, ["command", "cmd", "code", "script", "raw"]);
}

function buildContent(
  action: ToolAction,
  given: CallArguments,
  cwd: string | undefined,
  old: OldText,
): ToolCallContent[] {
  const { operation } = action;
  if (operation === "run") {
    const command = findCommandLine(given) ?? "";
    // The title holds one short line; whoever is asked whether it may run must be able to read all of it.
    const isWhole = toSingleLine(command) === command && command.length <= MAX_COMMAND_LENGTH;
    return isWhole ? [] : [toTextContent(shortenText(command, true))];
  }
  if (operation !== "write" && operation !== "edit") return [];
  const edits =
    operation === "write"
      ? findCallWrites(given).map((edit) => ({ ...edit, oldText: old === UNKNOWN_TEXT ? null : old }))
      : findCallEdits(given);
  const path = findCallPath(given);
  const patch = findCallPatch(given);
  if (path === undefined || edits.length === 0) {
    return patch === undefined ? [] : [toTextContent(shortenText(patch, true))];
  }
  const length = edits.reduce((sum, edit) => sum + edit.newText.length + (edit.oldText?.length ?? 0), 0);
  if (length > MAX_DIFF_LENGTH || edits.length > MAX_DIFFS) {
    return [
      toTextContent(
        `The change has ${pluralize(length, "character")} in ${pluralize(edits.length, "place")}: too long to show here.`,
      ),
    ];
  }
  // A difference from nothing would say that the file is new.
  if (operation === "write" && old === UNKNOWN_TEXT)
    return edits.map(({ newText }) => toTextContent(shortenText(newText, true)));
  const place = resolveCallPath(path, getBaseFolder(action, cwd)) ?? path;
  return edits.map((edit): ToolCallContent => ({ type: "diff", path: place, ...edit }));
}

function shortenText(text: string, isVerbatim: boolean): string {
  const { text: shown, note } = truncateResult(text);
  const body = isVerbatim ? fenceCode(shown) : shown;
  return note === undefined ? body : `${body}\n${note}`;
}

function toTextContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

function toNameBlocks(part: Part): ContentBlock[] {
  if (part.type === "text") return [];
  const name = part.type === "resource" ? part.uri : (part.name ?? part.mimeType);
  return [{ type: "text", text: `[${part.type} ${name}]` }];
}
