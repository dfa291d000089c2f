import { once } from "node:events";
import { appendFileSync, existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { Asker } from "../../../core/owner.ts";
import { pluralize } from "../../../core/pluralize.ts";
import type { Session } from "../../../core/session.ts";
import { formatTranscript } from "../../../core/transcript.ts";
import type { Store } from "../../../ports/store.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import { buildTemporaryName, createPrivateFile, moveIntoPlace } from "../../../stores/sqlite/upkeep/files.ts";
import { systemZone } from "../../../system/system-clock.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, usageError } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { type OpenHome, toAsker, withHome } from "../open-home.ts";
import { resolveSessionArgument } from "../session-argument.ts";

const NAME = "sessions export";

export const exportSessionsCommand: Command = defineCommand({
  name: NAME,
  takes: "SESSION…",
  words: [0, Number.POSITIVE_INFINITY],
  about: `Writes sessions to a file or to stdout. jsonl contains everything, one session per line, for postrider sessions
import. md is for reading.`,
  options: {
    all: { type: "flag", help: "all your sessions, including archived ones" },
    format: { type: "text", value: "FORMAT", help: "jsonl (default) or md" },
    output: { type: "text", short: "o", value: "FILE", help: "write to this file; only you can read it" },
    force: { type: "flag", help: "overwrite an existing file" },
    everyone: EVERYONE_OPTION,
    json: { ...JSON_OPTION, help: "with --output: print the result as JSON (format: docs/json.md)" },
  },
  examples: [
    ["postrider sessions export k7f --format md", "export one session for reading"],
    ["postrider sessions export --all --output sessions.jsonl", "export everything"],
  ],
  async run({ words, values }, io) {
    const { all, output, format = "jsonl" } = values;
    if (format !== "jsonl" && format !== "md")
      throw usageError(`--format must be jsonl or md, not "${format}"`, NAME);
    if (all === words.length > 0) throw usageError("Name sessions or use --all, not both", NAME);
    if (values.json && output === undefined)
      throw usageError("--json needs --output; without it the export itself is JSON", NAME);
    const who = toAsker(values.everyone);
    const file = output === undefined ? undefined : openAtomicFile(resolve(output), values.force);
    try {
      const written = await withHome(io, async (open) => {
        const chosen = all
          ? await listAllSessions(open.store, who)
          : await findSessions(open.store, who, words);
        const written = { sessions: 0, messages: 0 };
        for (const session of chosen) {
          const exported =
            format === "md"
              ? await exportMarkdown(open, who, session)
              : await exportLine(open.sessions, who, session.id);
          if (exported === undefined) continue; // deleted since it was listed
          written.sessions += 1;
          written.messages += exported.messages;
          if (file !== undefined) file.write(exported.text);
          else if (!io.output.write(exported.text)) await once(io.output, "drain");
        }
        return written;
      });
      if (file === undefined) return;
      const { path, bytes } = file.end();
      if (values.json) return printJson(io, { file: path, format, ...written, bytes });
      printLine(
        io,
        `${path}: ${pluralize(written.sessions, "session")}, ${pluralize(written.messages, "message")}.`,
      );
      if (written.sessions === 0) printNotice(io, "There are no sessions to export, so the file is empty.");
    } finally {
      file?.abandon();
    }
  },
});

async function findSessions(store: Store, who: Asker, names: readonly string[]): Promise<readonly Session[]> {
  const found = new Map<string, Session>();
  for (const name of names) {
    const session = await resolveSessionArgument(store, who, name);
    found.set(session.id, session);
  }
  return [...found.values()];
}

/** Oldest first, so that an import keeps the order. */
async function listAllSessions(store: Store, who: Asker): Promise<readonly Session[]> {
  const found: Session[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const query = { asker: who, archived: "both", limit: 1000 } as const;
    const page = await store.sessions.querySessions({ ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.items);
    cursor = page.cursor;
  }
  return found.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

interface ExportedText {
  readonly text: string;
  readonly messages: number;
}

async function exportLine(sessions: Sessions, who: Asker, id: string): Promise<ExportedText | undefined> {
  const exported = await sessions.export(who, id);
  return exported && { text: `${JSON.stringify(exported)}\n`, messages: exported.messages.length };
}

async function exportMarkdown({ store }: OpenHome, who: Asker, session: Session): Promise<ExportedText> {
  const messages = (await store.messages.readHistory({ asker: who, session: session.id })) ?? [];
  return { text: `${formatTranscript(session, messages, systemZone())}\n`, messages: messages.length };
}

interface AtomicFile {
  write(text: string): void;
  end(): { readonly path: string; readonly bytes: number };
  /** Removes the partial file, unless `end` was called. */
  abandon(): void;
}

/** Writes a private file, completely or not at all. */
function openAtomicFile(path: string, force: boolean): AtomicFile {
  if (!force && existsSync(path)) {
    throw new PostriderError(
      "file_exists",
      `${path} already exists. Name another file, or add --force to overwrite it.`,
      {
        details: { file: path },
      },
    );
  }
  const unfinished = buildTemporaryName(path);
  let bytes = 0;
  try {
    createPrivateFile(unfinished);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new PostriderError("invalid_input", `Cannot write ${path} (${code}). Name another path.`, {
      cause: error,
      details: { file: path },
    });
  }
  return {
    write(text) {
      appendFileSync(unfinished, text);
      bytes += Buffer.byteLength(text);
    },
    end() {
      moveIntoPlace(unfinished, path, force);
      return { path, bytes };
    },
    abandon: () => rmSync(unfinished, { force: true }),
  };
}
