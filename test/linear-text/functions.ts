import type { Message as TelegramMessage } from "grammy/types";
import { failureWords, isTooLong, refusesTools } from "../../src/agents/model/failure.ts";
import { windowOf } from "../../src/agents/model/window.ts";
import { shortened as shortenedOutput } from "../../src/agents/shortened.ts";
import { addressOf, nameIn, tells } from "../../src/apps/acp/attachment-name.ts";
import { saidIn, wordsOf } from "../../src/apps/acp/content.ts";
import { outputOf as mcpOutput } from "../../src/apps/acp/mcp-output.ts";
import { boundedData, cut, cutResult, oneLine } from "../../src/apps/acp/short-text.ts";
import { actionOf } from "../../src/apps/acp/tool-action.ts";
import { absolute, locationsIn, patchIn } from "../../src/apps/acp/tool-arguments.ts";
import { toolCard } from "../../src/apps/acp/tool-card.ts";
import { mergeEntry } from "../../src/apps/cli/acp/merge-entry.ts";
import { conversationView } from "../../src/apps/cli/chat/conversation-view.ts";
import { highlighter } from "../../src/apps/cli/chat/highlight.ts";
import { themeOf } from "../../src/apps/cli/chat/theme.ts";
import { callLine, resultLines } from "../../src/apps/cli/chat/tool-lines.ts";
import { messageLines } from "../../src/apps/cli/message-text.ts";
import { table } from "../../src/apps/cli/table.ts";
import { cutToWidth, padToWidth, visibleWidth } from "../../src/apps/cli/width.ts";
import { commentsOf, editText } from "../../src/apps/config/edit-text.ts";
import { unknownKey } from "../../src/apps/config/nearest-key.ts";
import { shownKey, shown as shownValue } from "../../src/apps/config/problem.ts";
import { readYaml } from "../../src/apps/config/yaml-text.ts";
import { hookFile } from "../../src/apps/hooks/hook-file.ts";
import { contentOf } from "../../src/apps/import/hermes/content.ts";
import { instantsIn } from "../../src/apps/import/hermes/instants.ts";
import { hasLargeNumbers, parseJson } from "../../src/apps/import/hermes/lossless-json.ts";
import { short } from "../../src/apps/import/hermes/problem.ts";
import { safeId } from "../../src/apps/import/hermes/session-mapping.ts";
import { prettyLine } from "../../src/apps/log/pretty-line.ts";
import { escaped, shortened } from "../../src/commands/command.ts";
import { messageLine } from "../../src/commands/history.ts";
import { readCode } from "../../src/commands/pairing.ts";
import { nearestName, parseCommand, spokenText } from "../../src/core/command-grammar.ts";
import { fenced } from "../../src/core/fence.ts";
import { assertSessionId, isHandle, isSessionId } from "../../src/core/ids.ts";
import { parseKey } from "../../src/core/key.ts";
import { changedMemory, memoryPrompt } from "../../src/core/memory.ts";
import { checkMessage, type Message, type ToolCall } from "../../src/core/message.ts";
import { isModelName } from "../../src/core/model-name.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import { onOneLine, printable } from "../../src/core/printable.ts";
import type { Process } from "../../src/core/process.ts";
import { endedText, inCode, progressText, wakeText } from "../../src/core/process-news.ts";
import { hashChat, hashSender, looksLikePhone } from "../../src/core/redaction.ts";
import { parseQuery, toFts5 } from "../../src/core/search-query.ts";
import { indexedText, searchTerms, termsWithOffsets } from "../../src/core/search-terms.ts";
import type { Session } from "../../src/core/session.ts";
import { neighbourText, snippet } from "../../src/core/snippet.ts";
import { displayText } from "../../src/core/source.ts";
import { openFence, splitText } from "../../src/core/split-text.ts";
import {
  autoTitle,
  cleanTitle,
  findByTitle,
  lineageOf,
  nextInLineage,
  preview,
} from "../../src/core/titles.ts";
import { transcript } from "../../src/core/transcript.ts";
import { isForOther, spokenText as spokenInTelegram } from "../../src/platforms/telegram/addressed.ts";
import { cleanFileName } from "../../src/platforms/telegram/attachment.ts";
import { escapeHtml, toHtml } from "../../src/platforms/telegram/format.ts";
import { parseInline } from "../../src/platforms/telegram/inline.ts";
import { quoteFor } from "../../src/platforms/telegram/words.ts";
import { maskedBy, streamMask } from "../../src/processes/masking.ts";
import { readRequest } from "../../src/processes/protocol.ts";
import { rolling } from "../../src/processes/rolling.ts";
import { lineWatch } from "../../src/processes/watch-lines.ts";
import { findDanger } from "../../src/tools/command-analysis/find-danger.ts";
import { diffOf } from "../../src/tools/diff.ts";
import { mostAlike } from "../../src/tools/most-alike.ts";
import { linesOf, readable, tail } from "../../src/tools/output.ts";
import { countLines, inPages } from "../../src/tools/pages.ts";
import { patched } from "../../src/tools/replacement.ts";
import { decoded } from "../../src/tools/text-of-bytes.ts";
import { textDeliveries } from "../../src/turns/outgoing.ts";

/** Everything that reads a text of others: by name, and how it is called. */
export type TextFunction = readonly [name: string, run: (text: string) => unknown];

const SECRETS = ["0123456789:a-secret-of-a-bot", "aaaaaaaaaaaaaaab", "[[[[[[[[[["];
const STYLE = { isOn: false, bold: (text: string) => text, dim: (text: string) => text };
const QUERY = parseQuery('a "a a" b* OR word');
const ME = { id: 1, username: "bot" };
const MASK = maskedBy(SECRETS);
const highlight = highlighter();
const pretty = prettyLine({ color: false });
const readInstant = instantsIn("UTC");

/** These take time in proportion to the text. */
export const LINEAR: readonly TextFunction[] = [
  // What people and models say.
  ["parseCommand", parseCommand],
  ["spokenText", (text) => spokenText(`/${text}`)],
  ["nearestName", (text) => nearestName(["status", "stop"], text)],
  ["checkMessage", (text) => checkMessage({ role: "user", parts: [{ type: "text", text }] })],
  ["splitText", (text) => splitText(text, 4000)],
  ["openFence", openFence],
  ["textDeliveries", (text) => textDeliveries({ platform: "telegram", chatType: "dm", chatId: "1" }, text)],
  ["toHtml", toHtml],
  ["escapeHtml", escapeHtml],
  ["parseInline", (text) => parseInline(text)],
  ["fenced", fenced],
  ["printable", printable],
  ["onOneLine", onOneLine],
  ["escaped", escaped],
  ["shortened", (text) => shortened(text)],
  ["messageLine", (text) => messageLine(said(text), "UTC")],
  ["transcript", (text) => transcript(SESSION, [said(text), said(text, "tool")], "UTC")],
  ["telegram quoteFor", (text) => quoteFor(telegram(text))],
  ["telegram spokenText", (text) => spokenInTelegram(telegram(text), ME)],
  ["telegram isForOther", (text) => isForOther(telegram(text), ME)],
  ["cleanFileName", cleanFileName],
  // Names, titles, ids, keys.
  ["cleanTitle", attempt(cleanTitle)],
  ["autoTitle", autoTitle],
  ["lineageOf", lineageOf],
  ["nextInLineage", (text) => nextInLineage(text, [text, `${text} #2`])],
  ["findByTitle", (text) => findByTitle(text, [{ title: `${text} #2` }])],
  ["preview", preview],
  ["displayText", displayText],
  ["looksLikePhone", looksLikePhone],
  ["hashSender", (text) => hashSender(text)],
  ["hashChat", (text) => hashChat(text)],
  ["parseKey", parseKey],
  ["isSessionId", isSessionId],
  ["assertSessionId", attempt(assertSessionId)],
  ["isHandle", isHandle],
  ["isModelName", isModelName],
  ["windowOf", windowOf],
  ["platformTraits", platformTraits],
  ["readCode", readCode],
  ["changedMemory", (text) => changedMemory(["a", text], { action: "replace", old: text, text: `${text}b` })],
  ["memoryPrompt", (text) => memoryPrompt([{ owner: "p", entries: [text] }])],
  // Search.
  ["parseQuery", (text) => toFts5(parseQuery(text))],
  ["searchTerms", searchTerms],
  ["indexedText", indexedText],
  ["neighbourText", neighbourText],
  // What processes and tools print.
  ["readable", readable],
  ["tail", (text) => tail(text, 1000)],
  ["linesOf", linesOf],
  ["maskedBy", MASK],
  ["streamMask", (text) => inChunks(streamMask(SECRETS), text)],
  ["lineWatch", (text) => inChunks(watchOf(["ready", "aab"]), text)],
  ["rolling", (text) => inChunks(rollingOf(), text)],
  ["readRequest", readRequest],
  ["progressText", (text) => progressText(process(text), text, 1)],
  ["endedText", (text) => endedText(process(text), text)],
  ["wakeText", (text) => wakeText(process(text), text)],
  ["inCode", (text) => inCode(text)],
  ["shortened output", (text) => shortenedOutput({ parts: [{ type: "text", text }] })],
  ["mcp output", (text) => mcpOutput({ content: [{ type: "text", text }] }, MASK)],
  ["decoded", (text) => decoded(Buffer.from(text))],
  ["inPages", (text) => inPages(text, { offset: -5, limit: 100 })],
  ["countLines", countLines],
  ["mostAlike", (text) => mostAlike(text.split("\n"), text, 3)],
  ["patched", (text) => patched(text, { old: text.slice(0, 3), new: "b", all: true })],
  ["patched, once", (text) => patched(text, { old: text.slice(0, text.length / 2), new: "b", all: false })],
  ["diffOf", (text) => diff(text)],
  // Editors.
  ["acp saidIn", attempt((text) => saidIn([{ type: "text", text }, linkTo(text)]))],
  ["acp bytes", attempt((text) => saidIn([{ type: "image", mimeType: "image/png", data: text }]))],
  ["acp wordsOf", (text) => wordsOf([{ type: "text", text }, linkTo(text)])],
  ["acp nameIn", nameIn],
  ["acp addressOf", addressOf],
  ["acp tells", (text) => tells(text, "name")],
  ["acp cut", (text) => cut(text, 100)],
  ["acp oneLine", oneLine],
  ["acp cutResult", cutResult],
  ["acp boundedData", (text) => boundedData({ text })],
  ["acp actionOf", (text) => actionOf(text, { path: text })],
  ["acp absolute", (text) => absolute(text, "/")],
  ["acp locationsIn", (text) => locationsIn({ patch: `*** a\n${text}` }, false, "/")],
  ["acp patchIn", (text) => patchIn({ patch: text })],
  ["acp toolCard of a command", (text) => toolCard(call("terminal", { command: text }), "/")],
  ["acp toolCard of a patch", (text) => toolCard(call("apply_patch", { patch: text }), "/")],
  ["acp toolCard of an edit", (text) => toolCard(call("edit", { path: text, old: text, new: text }), "/")],
  ["mergeEntry", (text) => mergeEntry(text, { section: "a", name: "b" }, { c: 1 }, true)],
  ["mergeEntry among comments", (text) => merge(`{"x": 1 /*${text}*/ ,\n//${text}\n}`)],
  // The terminal.
  ["visibleWidth", visibleWidth],
  ["cutToWidth", (text) => cutToWidth(text, 80)],
  ["padToWidth", (text) => padToWidth(text, 80)],
  ["callLine", (text) => callLine({ name: "terminal", arguments: { command: text } })],
  ["resultLines", (text) => resultLines([{ type: "text", text }])],
  ["messageLines", (text) => messageLines(said(text), { session: "s", isOwn: true }, STYLE)],
  ["prettyLine", (text) => pretty(JSON.stringify({ level: 30, time: 0, msg: text }))],
  // Files of settings, and what is imported.
  ["commentsOf", commentsOf],
  ["unknownKey", (text) => unknownKey(["telegram", text])],
  ["shown value", shownValue],
  ["shown key", shownKey],
  ["hermes contentOf", (text) => contentOf([{ type: "image_url", image_url: { url: text } }, text])],
  ["hermes parseJson", attempt(parseJson)],
  ["hermes hasLargeNumbers", attempt(hasLargeNumbers)],
  ["hermes short", short],
  ["hermes safeId", safeId],
  ["hermes instants", readInstant],
  ["highlighter", (text) => highlight(text.replaceAll("\n", ";"), "typescript")],
];

/** These read only a part of a long text, because a library or a search behind them is not linear. */
export const BOUNDED: readonly TextFunction[] = [
  ["termsWithOffsets", termsWithOffsets],
  ["snippet", (text) => snippet(text, QUERY)],
  ["snippet of a query like the text", (text) => snippet(text, parseQuery(text))],
  ["failureWords", (text) => failureWords(refusal(text), { provider: "openai", model: "m", apiKey: "k" })],
  ["isTooLong", (text) => isTooLong(refusal(text))],
  ["refusesTools", (text) => refusesTools(refusal(text))],
  ["findDanger", attempt(findDanger)],
  ["table", (text) => table([{ heading: "a", least: 10 }, { heading: "b" }], [[text, "b"]], 80)],
  ["answer on the screen", (text) => screen(said(text))],
  ["input on the screen", (text) => screen(said(text, "user"))],
  ["output on the screen", (text) => screen(said(text, "tool"))],
  ["code on the screen", (text) => screen(said(`\`\`\`js\n${text.replaceAll("`", "'")}\n\`\`\``))],
  ["readYaml", readYaml],
  ["editText", attempt((text) => editText(text, ["a", "b"], "c"))],
  ["hookFile", attempt((text) => hookFile(text, "/"))],
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
  const told = { at: 0, upTo: 0, matches: 0, end: false };
  const watch = { mode: "all", patterns: [], wakes: true } as const;
  return { id: "proc_1", command: text, begunAt: 0, status, matches, told, watch } as unknown as Process;
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
  const result = patched(text, wanted);
  return "wrong" in result ? "" : diffOf(text, result, MASK);
}

function screen(message: Message): readonly string[] {
  const view = conversationView(themeOf(true));
  view.message(message);
  return view.render(80);
}

function watchOf(patterns: readonly string[]): Taker {
  const watch = lineWatch(patterns);
  return { take: (text) => watch.take(text, 0) };
}

function rollingOf(): Taker {
  const kept = rolling();
  return {
    take(text) {
      kept.add(text);
    },
  };
}

interface Taker {
  take(text: string): unknown;
}

/** As a pipe gives it. */
function inChunks(taker: Taker, text: string): void {
  for (let at = 0; at < text.length; at += 65_536) taker.take(text.slice(at, at + 65_536));
}

/** An error is an answer. */
function attempt(run: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return run(text);
    } catch (error) {
      return error;
    }
  };
}
