import { appendFileSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { messageToJson } from "../../core/json.ts";
import type { PersonData } from "../../core/person.ts";
import { pluralize } from "../../core/pluralize.ts";
import { sourceToJson } from "../../core/source.ts";
import type { Store } from "../../ports/store.ts";
import { exportSession } from "../../sessions/export.ts";
import { toStoreError } from "../../stores/sqlite/store-errors.ts";
import {
  buildTemporaryName,
  createFileExistsError,
  createPrivateFile,
  hasFile,
  moveIntoPlace,
} from "../../stores/sqlite/upkeep/files.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { printJson, printLine } from "./io.ts";
import { withStore } from "./open-home.ts";
import { findPersonArgument, personNotFound } from "./person-argument.ts";

const EVERYONE_ASKER = { everyone: true } as const;

/** Exports all data of one person to a file that can be read without Postrider. */
export const exportPersonCommand: Command = defineCommand({
  name: "export-person",
  takes: "PERSON FILE",
  words: [2, 2],
  about:
    "Exports all data of one person to one file with one JSON value per line: their accounts, their sessions with\nattachments, their messages in shared chats, and all other records about them. PERSON is an id (owner, p_…) or an\naccount (telegram:42).",
  options: {
    force: { type: "flag", help: "overwrite an existing file" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider export-person telegram:42 alice.jsonl", "all data of this person"],
    ["postrider export-person owner me.jsonl", "all your data"],
  ],
  async run({ words: [who = "", given = ""], values }, io) {
    const file = resolve(given);
    const written = await withStore(io, async ({ store }) => {
      const data = await findPersonArgument(store, who);
      if (data === undefined) throw personNotFound(who);
      if (!values.force && hasFile(file)) throw createFileExistsError(file);
      return { person: data.person, ...(await writeExport(store, data, file, values.force, io.now())) };
    });
    const result = { ...written, file, bytes: statSync(file).size };
    if (values.json) return printJson(io, result);
    printLine(
      io,
      `${file}: ${pluralize(result.sessions, "session")}, ${pluralize(result.messages, "message")}, ${pluralize(result.elsewhere, "message")} in shared chats.`,
    );
  },
});

interface ExportCounts {
  readonly sessions: number;
  readonly messages: number;
  readonly elsewhere: number;
}

async function writeExport(
  store: Store,
  data: PersonData,
  file: string,
  overwrite: boolean,
  now: number,
): Promise<ExportCounts> {
  const unfinished = buildTemporaryName(file);
  const line = (value: unknown): void => appendFileSync(unfinished, `${JSON.stringify(value)}\n`);
  let messages = 0;
  let sessions = 0;
  try {
    createPrivateFile(unfinished);
    line(buildHeader(data, now));
    for await (const id of listSessionIds(store, data.person)) {
      const exported = await exportSession(store, EVERYONE_ASKER, id);
      if (exported === undefined) continue; // removed since it was listed
      line(exported);
      sessions += 1;
      messages += exported.messages.length;
    }
    for (const row of buildRows(data)) line(row);
    moveIntoPlace(unfinished, file, overwrite);
    return { sessions, messages, elsewhere: data.elsewhere.length };
  } catch (error) {
    throw toStoreError(error, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

async function* listSessionIds(store: Store, owner: string): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const page = await store.sessions.querySessions({
      asker: EVERYONE_ASKER,
      owner,
      archived: "both",
      limit: 500,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { id } of page.items) yield id;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function buildHeader({ person, name, createdAt, role, accounts, counts }: PersonData, now: number) {
  return {
    format: "postrider.person",
    version: 1,
    exported_at: now,
    person,
    name: name ?? null,
    created_at: createdAt,
    role: role ?? null,
    accounts: accounts.map((account) => ({
      platform: account.platform,
      id: account.id ?? null,
      alt_id: account.altId ?? null,
      name: account.name ?? null,
      created_at: account.createdAt,
    })),
    counts,
  };
}

/** One line per record; `kind` names its type. */
function* buildRows(data: PersonData): Generator<Record<string, unknown>> {
  for (const message of data.elsewhere) yield { kind: "said_elsewhere", message: messageToJson(message) };
  for (const one of data.conversations) {
    yield {
      kind: "conversation",
      number: one.number,
      platform: one.platform,
      chat_type: one.chatType,
      chat_id: one.chatId,
      thread_id: one.threadId ?? null,
      session: one.session,
      active_at: one.activeAt,
    };
  }
  for (const one of data.decisions) yield { kind: "decision", ...one };
  for (const { platform, chatId, messageId, at, state, message } of data.inbox) {
    yield {
      kind: "inbox",
      platform,
      chat_id: chatId,
      message_id: messageId,
      at,
      state,
      message: message === undefined ? null : messageToJson(message),
    };
  }
  for (const { session, state, startedAt, endedAt, target } of data.turns) {
    const times = { started_at: startedAt, ended_at: endedAt ?? null };
    yield { kind: "turn", session, state, ...times, target: sourceToJson(target) };
  }
  for (const { session, state, createdAt, target, parts } of data.deliveries) {
    const said = messageToJson({ role: "assistant", parts }).parts;
    yield {
      kind: "delivery",
      session: session ?? null,
      state,
      created_at: createdAt,
      target: sourceToJson(target),
      parts: said,
    };
  }
  for (const { begunAt, endedAt, target, ...one } of data.processes) {
    const times = { begun_at: begunAt, ended_at: endedAt ?? null };
    yield { kind: "process", ...one, ...times, target: sourceToJson(target) };
  }
  for (const { platform, asker, askedAt, expiresAt } of data.pairings) {
    const from = asker === undefined ? null : sourceToJson(asker);
    yield { kind: "pairing", platform, asker: from, asked_at: askedAt, expires_at: expiresAt };
  }
  for (const one of data.approvals) {
    const { title, detail, pattern, folder } = one.request;
    yield {
      kind: "approval",
      session: one.session,
      target: sourceToJson(one.target),
      request: { title, detail: detail ?? null, pattern: pattern ?? null, folder: folder ?? null },
      asked_at: one.askedAt,
      deadline: one.deadline,
      answer: one.answer ?? null,
      answered_at: one.answeredAt ?? null,
    };
  }
  for (const { pattern, folder, session, never = false, at } of data.allowed)
    yield { kind: "allowed", pattern, folder: folder ?? null, session: session ?? null, never, at };
  for (const { text, chat } of data.memories) yield { kind: "memory", text, chat: chat ?? null };
}
