import type { Message as TelegramMessage } from "grammy/types";
import { formatModelFailure, isTooLong, isToolRefusal } from "../../src/agents/model/failure.ts";
import { findModelWindow } from "../../src/agents/model/window.ts";
import { shortenOutput as shortenedOutput } from "../../src/agents/shorten-output.ts";
import { buildAttachmentUri, getAttachmentName, hasTextInUri } from "../../src/apps/acp/attachment-name.ts";
import { findCallLocations, findCallPatch, resolveCallPath } from "../../src/apps/acp/call-arguments.ts";
import { extractPromptText, parsePrompt } from "../../src/apps/acp/content.ts";
import { toToolOutput as mcpOutput } from "../../src/apps/acp/mcp-output.ts";
import { classifyTool } from "../../src/apps/acp/tool-action.ts";
import { buildToolCard } from "../../src/apps/acp/tool-card.ts";
import {
  limitDataSize,
  toSingleLine,
  truncateResult,
  truncateText,
} from "../../src/apps/acp/truncate-text.ts";
import { mergeEntry } from "../../src/apps/cli/acp/merge-entry.ts";
import { conversationView } from "../../src/apps/cli/chat/conversation-view.ts";
import { highlighter } from "../../src/apps/cli/chat/highlight.ts";
import { buildTheme } from "../../src/apps/cli/chat/theme.ts";
import { formatToolCall, formatToolResult } from "../../src/apps/cli/chat/tool-lines.ts";
import { formatMessageLines } from "../../src/apps/cli/message-text.ts";
import { formatTable } from "../../src/apps/cli/table.ts";
import { cutToWidth, measureWidth, padToWidth } from "../../src/apps/cli/width.ts";
import { formatKeyName, formatRawValue as shownValue } from "../../src/apps/config/config-problem.ts";
import { editText, listComments } from "../../src/apps/config/edit-text.ts";
import { describeUnknownKey } from "../../src/apps/config/nearest-key.ts";
import { readYaml } from "../../src/apps/config/yaml-text.ts";
import { parseHookFile } from "../../src/apps/hooks/hook-file.ts";
import { mapContent } from "../../src/apps/import/hermes/content.ts";
import { shortenName } from "../../src/apps/import/hermes/import-problem.ts";
import { createInstantReader } from "../../src/apps/import/hermes/instant-reader.ts";
import { hasLargeNumbers, parseJson } from "../../src/apps/import/hermes/lossless-json.ts";
import { toSafeId } from "../../src/apps/import/hermes/session-mapping.ts";
import { createLineFormatter } from "../../src/apps/log/line-formatter.ts";
import { escapeMarkdown, shortenLine } from "../../src/commands/command.ts";
import { formatMessageLine } from "../../src/commands/history.ts";
import { parsePairingCode } from "../../src/commands/pairing.ts";
import { findNearestName, parseCommand, unescapeSlash } from "../../src/core/command-grammar.ts";
import { fenceCode } from "../../src/core/fence.ts";
import { toFts5 } from "../../src/core/fts5-query.ts";
import { assertSessionId, isHandle, isSessionId } from "../../src/core/ids.ts";
import { parseKey } from "../../src/core/key.ts";
import { applyMemoryChange, buildMemoryPrompt } from "../../src/core/memory.ts";
import { checkMessage, type Message, type ToolCall } from "../../src/core/message.ts";
import { isModelName } from "../../src/core/model-name.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import { toOneLine, toPrintable } from "../../src/core/printable.ts";
import type { Process } from "../../src/core/process.ts";
import {
  formatCommand,
  formatEnd,
  formatProgress,
  formatWakeMessage,
} from "../../src/core/process-report.ts";
import { hashChat, hashSender, isPhoneLike } from "../../src/core/redaction.ts";
import { parseQuery } from "../../src/core/search-query.ts";
import { buildIndexText, extractTermOffsets, extractTerms } from "../../src/core/search-terms.ts";
import type { Session } from "../../src/core/session.ts";
import { buildSnippet, shortenNeighbour } from "../../src/core/snippet.ts";
import { toDisplayText } from "../../src/core/source.ts";
import { findOpenFence, splitText } from "../../src/core/split-text.ts";
import {
  buildNextTitle,
  buildPreview,
  cleanProposedTitle,
  cleanTitle,
  findTitleMatch,
  parseLineage,
} from "../../src/core/titles.ts";
import { formatTranscript } from "../../src/core/transcript.ts";
import { cleanFileName } from "../../src/platforms/telegram/attachment.ts";
import { formatQuote } from "../../src/platforms/telegram/describe-content.ts";
import { escapeHtml, toHtml } from "../../src/platforms/telegram/format.ts";
import { parseInline } from "../../src/platforms/telegram/inline.ts";
import {
  isForOtherBot,
  readTelegramText as spokenInTelegram,
} from "../../src/platforms/telegram/is-addressed.ts";
import { createSecretMask, createStreamMask } from "../../src/processes/masking.ts";
import { createOutputBuffer } from "../../src/processes/output-buffer.ts";
import { parseKeeperRequest } from "../../src/processes/protocol.ts";
import { createLineWatch } from "../../src/processes/watch-lines.ts";
import { findDanger } from "../../src/tools/command-analysis/find-danger.ts";
import { decodeText } from "../../src/tools/decode-text.ts";
import { formatDiff } from "../../src/tools/diff.ts";
import { findMostSimilar } from "../../src/tools/find-similar.ts";
import { countLines, paginateText } from "../../src/tools/paginate-text.ts";
import { splitOutputLines, takeLastCharacters, toReadableOutput } from "../../src/tools/readable-output.ts";
import { applyTextPatch } from "../../src/tools/text-patch.ts";
import { buildTextDeliveries } from "../../src/turns/text-deliveries.ts";

/** Every function that reads foreign text: its name, and how it is called. */
export type TextFunction = readonly [name: string, run: (text: string) => unknown];

const SECRETS = ["0123456789:a-secret-of-a-bot", "aaaaaaaaaaaaaaab", "[[[[[[[[[["];
const STYLE = { isOn: false, bold: (text: string) => text, dim: (text: string) => text };
const QUERY = parseQuery('a "a a" b* OR word');
const ME = { id: 1, username: "bot" };
const MASK = createSecretMask(SECRETS);
const highlight = highlighter();
const pretty = createLineFormatter({ color: false });
const readInstant = createInstantReader("UTC");

/** Their time is proportional to the length of the text. */
export const LINEAR: readonly TextFunction[] = [
  // Texts of people and models.
  ["parseCommand", parseCommand],
  ["spokenText", (text) => unescapeSlash(`/${text}`)],
  ["nearestName", (text) => findNearestName(["status", "stop"], text)],
  ["checkMessage", (text) => checkMessage({ role: "user", parts: [{ type: "text", text }] })],
  ["splitText", (text) => splitText(text, 4000)],
  ["openFence", findOpenFence],
  [
    "textDeliveries",
    (text) => buildTextDeliveries({ platform: "telegram", chatType: "dm", chatId: "1" }, text),
  ],
  ["toHtml", toHtml],
  ["escapeHtml", escapeHtml],
  ["parseInline", (text) => parseInline(text)],
  ["fenced", fenceCode],
  ["printable", toPrintable],
  ["onOneLine", toOneLine],
  ["escaped", escapeMarkdown],
  ["shortened", (text) => shortenLine(text)],
  ["messageLine", (text) => formatMessageLine(said(text), "UTC")],
  ["transcript", (text) => formatTranscript(SESSION, [said(text), said(text, "tool")], "UTC")],
  ["telegram quoteFor", (text) => formatQuote(telegram(text))],
  ["telegram spokenText", (text) => spokenInTelegram(telegram(text), ME)],
  ["telegram isForOther", (text) => isForOtherBot(telegram(text), ME)],
  ["cleanFileName", cleanFileName],
  // Names, titles, ids, keys.
  ["cleanTitle", attempt(cleanTitle)],
  ["autoTitle", cleanProposedTitle],
  ["lineageOf", parseLineage],
  ["nextInLineage", (text) => buildNextTitle(text, [text, `${text} #2`])],
  ["findByTitle", (text) => findTitleMatch(text, [{ title: `${text} #2` }])],
  ["preview", buildPreview],
  ["displayText", toDisplayText],
  ["looksLikePhone", isPhoneLike],
  ["hashSender", (text) => hashSender(text)],
  ["hashChat", (text) => hashChat(text)],
  ["parseKey", parseKey],
  ["isSessionId", isSessionId],
  ["assertSessionId", attempt(assertSessionId)],
  ["isHandle", isHandle],
  ["isModelName", isModelName],
  ["windowOf", findModelWindow],
  ["platformTraits", platformTraits],
  ["readCode", parsePairingCode],
  [
    "changedMemory",
    (text) => applyMemoryChange(["a", text], { action: "replace", old: text, text: `${text}b` }),
  ],
  ["memoryPrompt", (text) => buildMemoryPrompt([{ owner: "p", entries: [text] }])],
  // Search.
  ["parseQuery", (text) => toFts5(parseQuery(text))],
  ["searchTerms", extractTerms],
  ["indexedText", buildIndexText],
  ["neighbourText", shortenNeighbour],
  // Output of processes and tools.
  ["readable", toReadableOutput],
  ["tail", (text) => takeLastCharacters(text, 1000)],
  ["linesOf", splitOutputLines],
  ["maskedBy", MASK],
  ["streamMask", (text) => inChunks(createStreamMask(SECRETS), text)],
  ["lineWatch", (text) => inChunks(watchOf(["ready", "aab"]), text)],
  ["rolling", (text) => inChunks(rollingOf(), text)],
  ["readRequest", parseKeeperRequest],
  ["progressText", (text) => formatProgress(process(text), text, 1)],
  ["endedText", (text) => formatEnd(process(text), text)],
  ["wakeText", (text) => formatWakeMessage(process(text), text)],
  ["inCode", (text) => formatCommand(text)],
  ["shortened output", (text) => shortenedOutput({ parts: [{ type: "text", text }] })],
  ["mcp output", (text) => mcpOutput({ content: [{ type: "text", text }] }, MASK)],
  ["decoded", (text) => decodeText(Buffer.from(text))],
  ["inPages", (text) => paginateText(text, { offset: -5, limit: 100 })],
  ["countLines", countLines],
  ["mostAlike", (text) => findMostSimilar(text.split("\n"), text, 3)],
  ["patched", (text) => applyTextPatch(text, { old: text.slice(0, 3), new: "b", all: true })],
  [
    "patched, once",
    (text) => applyTextPatch(text, { old: text.slice(0, text.length / 2), new: "b", all: false }),
  ],
  ["diffOf", (text) => diff(text)],
  // Editors.
  ["acp saidIn", attempt((text) => parsePrompt([{ type: "text", text }, linkTo(text)]))],
  ["acp bytes", attempt((text) => parsePrompt([{ type: "image", mimeType: "image/png", data: text }]))],
  ["acp wordsOf", (text) => extractPromptText([{ type: "text", text }, linkTo(text)])],
  ["acp nameIn", getAttachmentName],
  ["acp addressOf", buildAttachmentUri],
  ["acp tells", (text) => hasTextInUri(text, "name")],
  ["acp cut", (text) => truncateText(text, 100)],
  ["acp oneLine", toSingleLine],
  ["acp cutResult", truncateResult],
  ["acp boundedData", (text) => limitDataSize({ text })],
  ["acp actionOf", (text) => classifyTool(text, { path: text })],
  ["acp absolute", (text) => resolveCallPath(text, "/")],
  ["acp locationsIn", (text) => findCallLocations({ patch: `*** a\n${text}` }, false, "/")],
  ["acp patchIn", (text) => findCallPatch({ patch: text })],
  ["acp toolCard of a command", (text) => buildToolCard(call("terminal", { command: text }), "/")],
  ["acp toolCard of a patch", (text) => buildToolCard(call("apply_patch", { patch: text }), "/")],
  [
    "acp toolCard of an edit",
    (text) => buildToolCard(call("edit", { path: text, old: text, new: text }), "/"),
  ],
  ["mergeEntry", (text) => mergeEntry(text, { section: "a", name: "b" }, { c: 1 }, true)],
  ["mergeEntry among comments", (text) => merge(`{"x": 1 /*${text}*/ ,\n//${text}\n}`)],
  // The terminal.
  ["visibleWidth", measureWidth],
  ["cutToWidth", (text) => cutToWidth(text, 80)],
  ["padToWidth", (text) => padToWidth(text, 80)],
  ["callLine", (text) => formatToolCall({ name: "terminal", arguments: { command: text } })],
  ["resultLines", (text) => formatToolResult([{ type: "text", text }])],
  ["messageLines", (text) => formatMessageLines(said(text), { session: "s", isOwn: true }, STYLE)],
  ["prettyLine", (text) => pretty(JSON.stringify({ level: 30, time: 0, msg: text }))],
  // Settings files and imports.
  ["commentsOf", listComments],
  ["unknownKey", (text) => describeUnknownKey(["telegram", text])],
  ["shown value", shownValue],
  ["shown key", formatKeyName],
  ["hermes contentOf", (text) => mapContent([{ type: "image_url", image_url: { url: text } }, text])],
  ["hermes parseJson", attempt(parseJson)],
  ["hermes hasLargeNumbers", attempt(hasLargeNumbers)],
  ["hermes short", shortenName],
  ["hermes safeId", toSafeId],
  ["hermes instants", readInstant],
  ["highlighter", (text) => highlight(text.replaceAll("\n", ";"), "typescript")],
];

/** They read only a part of a long text, because a library or a search that they use is not linear. */
export const BOUNDED: readonly TextFunction[] = [
  ["termsWithOffsets", extractTermOffsets],
  ["snippet", (text) => buildSnippet(text, QUERY)],
  ["snippet of a query like the text", (text) => buildSnippet(text, parseQuery(text))],
  [
    "failureWords",
    (text) => formatModelFailure(refusal(text), { provider: "openai", model: "m", apiKey: "k" }),
  ],
  ["isTooLong", (text) => isTooLong(refusal(text))],
  ["refusesTools", (text) => isToolRefusal(refusal(text))],
  ["findDanger", attempt(findDanger)],
  ["table", (text) => formatTable([{ heading: "a", least: 10 }, { heading: "b" }], [[text, "b"]], 80)],
  ["answer on the screen", (text) => screen(said(text))],
  ["input on the screen", (text) => screen(said(text, "user"))],
  ["output on the screen", (text) => screen(said(text, "tool"))],
  ["code on the screen", (text) => screen(said(`\`\`\`js\n${text.replaceAll("`", "'")}\n\`\`\``))],
  ["readYaml", readYaml],
  ["editText", attempt((text) => editText(text, ["a", "b"], "c"))],
  ["hookFile", attempt((text) => parseHookFile(text, "/"))],
];

const SESSION = { id: "s", handle: "abc", createdAt: 0 } as Session;

function said(text: string, role: Message["role"] = "assistant"): Message {
  return { session: "s", seq: 1, at: 0, role, parts: [{ type: "text", text }] };
}

function call(name: string, given: unknown): ToolCall {
  return { id: "1", name, arguments: given };
}

function linkTo(uri: string): { type: "resource_link"; uri: string; name: string } {
  return { type: "resource_link", uri, name: "a name" };
}

function telegram(text: string): TelegramMessage {
  const entities = [{ type: "bot_command", offset: 0, length: text.length }];
  const reply = { message_id: 1, text };
  return { message_id: 2, text, entities, reply_to_message: reply } as unknown as TelegramMessage;
}

function process(text: string): Process {
  const status = { state: "ended", at: 2, exit: { code: 0 } } as const;
  const matches = { count: 1, lines: [text] };
  const reported = { at: 0, upTo: 0, matches: 0, end: false };
  const watch = { mode: "all", patterns: [], wakes: true } as const;
  return { id: "proc_1", command: text, begunAt: 0, status, matches, reported, watch } as unknown as Process;
}

function refusal(text: string): unknown {
  return { statusCode: 400, responseBody: text, message: text };
}

function merge(text: string): unknown {
  return mergeEntry(text, { section: "a", name: "b" }, { c: 1 }, true);
}

function diff(text: string): string {
  const half = Math.floor(text.length / 2);
  const wanted = { old: text.slice(half - 2, half + 2), new: "changed", all: true };
  const result = applyTextPatch(text, wanted);
  return "wrong" in result ? "" : formatDiff(text, result, MASK);
}

function screen(message: Message): readonly string[] {
  const view = conversationView(buildTheme(true));
  view.showMessage(message);
  return view.render(80);
}

function watchOf(patterns: readonly string[]): Taker {
  const watch = createLineWatch(patterns);
  return { take: (text) => watch.take(text, 0) };
}

function rollingOf(): Taker {
  const kept = createOutputBuffer();
  return {
    take(text) {
      kept.add(text);
    },
  };
}

interface Taker {
  take(text: string): unknown;
}

/** As a stream of chunks from a pipe. */
function inChunks(taker: Taker, text: string): void {
  for (let at = 0; at < text.length; at += 65_536) taker.take(text.slice(at, at + 65_536));
}

/** An error is also a result. */
function attempt(run: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return run(text);
    } catch (error) {
      return error;
    }
  };
}
