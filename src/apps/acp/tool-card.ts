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

/** The card of a call before it has a result. */
export type ToolCallFields = Required<Pick<AcpToolCall, "title" | "kind" | "content" | "locations">> & {
  name: string;
  rawInput?: unknown;
};

/** The update with the result. Its content replaces the content of the card, so it repeats that. */
export interface ToolOutcomeFields {
  status: "completed" | "failed";
  content: ToolCallContent[];
  rawOutput?: unknown;
}

/** Content of a card that is not in its call. */
export interface CardState {
  readonly oldText?: OldText;
  readonly terminalId?: string | undefined;
}

const MAX_CARD_TITLE_LENGTH = 119;
const MAX_COMMAND_LENGTH = 80;
const MAX_GOAL_LENGTH = 60;
/** A longer diff is not shown at all: part of a diff would look like the whole change. */
const MAX_DIFF_LENGTH = 128 * 1024;
const MAX_DIFFS = 50;

/** `old` is the old text of the file that the call writes. */
export function buildToolCard(call: ToolCall, cwd: string | undefined, old: OldText = null): ToolCallFields {
  const args = parseCallArguments(call.arguments);
  const action = classifyTool(call.name, args);
  const title = formatTitle(action, args, cwd);
  return {
    title: title === "" ? "Tool" : title,
    name: call.name,
    kind: action.kind,
    locations: hasLocation(action)
      ? findCallLocations(args, action.operation === "move", getBaseFolder(action, cwd))
      : [],
    content: buildContent(action, args, cwd, old),
    ...(call.arguments !== undefined && { rawInput: limitDataSize(args) }),
  };
}

/**
 * `attached` are the blocks of parts that are not text; by default only their names. The card of a failed change shows the
 * reason instead of the change.
 */
export function buildToolOutcome(
  call: ToolCall | undefined,
  parts: readonly Part[],
  failed: boolean,
  cwd: string | undefined,
  attached: readonly ContentBlock[] = parts.flatMap(toNameBlocks),
  { oldText = null, terminalId }: CardState = {},
): ToolOutcomeFields {
  const args = parseCallArguments(call?.arguments);
  const action = classifyTool(call?.name ?? "", args);
  const output = getText({ parts });
  const isVerbatim = action.kind === "execute" || action.kind === "read" || action.kind === "search";
  return {
    status: failed ? "failed" : "completed",
    content: [
      ...(failed && action.kind === "edit" ? [] : buildContent(action, args, cwd, oldText)),
      ...(terminalId === undefined ? [] : [{ type: "terminal", terminalId } as const]),
      // The terminal shows the output.
      ...(output === "" || terminalId !== undefined ? [] : [toTextContent(shortenText(output, isVerbatim))]),
      ...attached.map((content): ToolCallContent => ({ type: "content", content })),
    ],
    ...(output !== "" && { rawOutput: limitDataSize(output) }),
  };
}

function hasLocation({ operation, kind }: ToolAction): boolean {
  return operation === "other" || (kind !== "execute" && kind !== "fetch" && kind !== "think");
}

/** The base of relative paths. Paths of MCP servers and unknown tools may belong to another machine. */
function getBaseFolder({ operation, server }: ToolAction, cwd: string | undefined): string | undefined {
  return server !== undefined || operation === "other" ? undefined : cwd;
}

function formatTitle(action: ToolAction, args: CallArguments, cwd: string | undefined): string {
  const { operation, tool, server } = action;
  const what = toSingleLine(describeAction(action, args, cwd) ?? "");
  const words = [server ?? "", operation === "other" || what === "" ? tool : "", what].map(toSingleLine);
  return truncateText(words.filter(Boolean).join(": "), MAX_CARD_TITLE_LENGTH);
}

/** A short description of the call; `undefined` if the arguments do not contain enough. */
function describeAction(
  action: ToolAction,
  args: CallArguments,
  cwd: string | undefined,
): string | undefined {
  const describe = (
    verb: string,
    object: string | undefined,
    maxLength = MAX_CARD_TITLE_LENGTH,
  ): string | undefined =>
    object === undefined ? undefined : `${verb} ${truncateText(toSingleLine(object), maxLength)}`;
  const path = toRelativePath(findCallPath(args), cwd);
  switch (action.operation) {
    case "run": {
      const command = findCommandLine(args);
      return command === undefined ? undefined : truncateText(toSingleLine(command), MAX_COMMAND_LENGTH);
    }
    case "process":
      return describe(
        "process",
        findCallArgument(args, ["action", "command", "session_id", "id"]),
        MAX_COMMAND_LENGTH,
      );
    case "read":
      return describe("Read", path);
    case "list":
      return describe("List", path);
    case "write":
      return describe("Write", path);
    case "edit":
      return describe("Edit", path);
    case "delete":
      return describe("Delete", path);
    case "move": {
      const [from = "it", to = "another place"] = findMovePaths(args).map((path) =>
        toRelativePath(path, cwd),
      );
      return describe("Move", `${from} to ${to}`);
    }
    case "search":
      return describe(
        "Search for",
        findCallArgument(args, ["pattern", "query", "regex", "q", "glob", "name"]) ?? path,
      );
    case "search_web":
      return describe("Search the web for", findCallArgument(args, ["query", "q", "search_term"]));
    case "fetch":
      return describe("Fetch", findCallArgument(args, ["url", "urls", "uri"]));
    case "delegate":
      return describe(
        "Delegate:",
        findCallArgument(args, ["goal", "description", "task", "prompt"]),
        MAX_GOAL_LENGTH,
      );
    case "think":
      return undefined;
    default:
      return findCallArgument(args, ["action", "query", "url", "title", "name", "path"]);
  }
}

/** Relative to the session's folder if it is inside it. */
function toRelativePath(path: string | undefined, cwd: string | undefined): string | undefined {
  if (path === undefined || cwd === undefined) return path;
  const whole = resolveCallPath(path, cwd);
  if (whole === undefined) return path;
  const within = relative(cwd, whole);
  if (within === "") return ".";
  return within.startsWith("..") ? whole : within;
}

function findCommandLine(args: CallArguments): string | undefined {
  return findCallArgument(args, ["command", "cmd", "code", "script", "raw"]);
}

function buildContent(
  action: ToolAction,
  args: CallArguments,
  cwd: string | undefined,
  old: OldText,
): ToolCallContent[] {
  const { operation } = action;
  if (operation === "run") {
    const command = findCommandLine(args) ?? "";
    // The title is one short line, but the person who approves must see the whole command.
    const isWhole = toSingleLine(command) === command && command.length <= MAX_COMMAND_LENGTH;
    return isWhole ? [] : [toTextContent(shortenText(command, true))];
  }
  if (operation !== "write" && operation !== "edit") return [];
  const edits =
    operation === "write"
      ? findCallWrites(args).map((edit) => ({ ...edit, oldText: old === UNKNOWN_TEXT ? null : old }))
      : findCallEdits(args);
  const path = findCallPath(args);
  const patch = findCallPatch(args);
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
  // A diff without old text would look like a new file.
  if (operation === "write" && old === UNKNOWN_TEXT)
    return edits.map(({ newText }) => toTextContent(shortenText(newText, true)));
  const absolute = resolveCallPath(path, getBaseFolder(action, cwd)) ?? path;
  return edits.map((edit): ToolCallContent => ({ type: "diff", path: absolute, ...edit }));
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
