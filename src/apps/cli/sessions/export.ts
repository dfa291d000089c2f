import { once } from "node:events";
import { appendFileSync, existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { Asker } from "../../../core/owner.ts";
import { plural } from "../../../core/plural.ts";
import type { Session } from "../../../core/session.ts";
import { transcript } from "../../../core/transcript.ts";
import type { Store } from "../../../ports/store.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import { giveName, makePrivateFile, unfinishedName } from "../../../stores/sqlite/upkeep/files.ts";
import { systemZone } from "../../../system/system-clock.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, wrongArguments } from "../command.ts";
import { note, say, sayJson } from "../io.ts";
import { asker, type OpenHome, withHome } from "../opening.ts";
import { sessionArgument } from "../session-argument.ts";

const NAME = "sessions export";

export const exportSessions: Command = defineCommand({
  name: NAME,
  takes: "SESSION…",
  words: [0, Number.POSITIVE_INFINITY],
  about: `Writes sessions into a file, or to stdout. jsonl keeps everything, one session a line: postrider sessions import
takes it back. md is for reading.`,
  options: {
    all: { type: "flag", help: "every session of yours, archived ones too" },
    format: { type: "text", value: "FORMAT", help: "jsonl (default) or md" },
    output: { type: "text", short: "o", value: "FILE", help: "write this file, readable by you alone" },
    force: { type: "flag", help: "take the place of a file that is there" },
    everyone: EVERYONE_OPTION,
    json: { ...JSON_OPTION, help: "with --output: say what was written as JSON (docs/json.md)" },
  },
  examples: [
    ["postrider sessions export k7f --format md", "to read it"],
    ["postrider sessions export --all --output sessions.jsonl", "everything, to keep or to move"],
  ],
  async run({ words, values }, io) {
    const { all, output, format = "jsonl" } = values;
    if (format !== "jsonl" && format !== "md")
      throw wrongArguments(`--format must be jsonl or md, not "${format}"`, NAME);
    if (all === words.length > 0) throw wrongArguments("Name sessions, or say --all, not both", NAME);
    if (values.json && output === undefined)
      throw wrongArguments(
        "--json tells what was written with --output; without it the export itself is JSON",
        NAME,
      );
    const who = asker(values.everyone);
    const file = output === undefined ? undefined : newFile(resolve(output), values.force);
    try {
      const written = await withHome(io, async (open) => {
        const chosen = all ? await everything(open.store, who) : await named(open.store, who, words);
        const written = { sessions: 0, messages: 0 };
        for (const session of chosen) {
          const exported =
            format === "md" ? await markdown(open, who, session) : await line(open.sessions, who, session.id);
          if (exported === undefined) continue; // removed by someone since it was listed
          written.sessions += 1;
          written.messages += exported.messages;
          if (file !== undefined) file.write(exported.text);
          else if (!io.output.write(exported.text)) await once(io.output, "drain");
        }
        return written;
      });
      if (file === undefined) return;
      const { path, bytes } = file.end();
      if (values.json) return sayJson(io, { file: path, format, ...written, bytes });
      say(io, `${path}: ${plural(written.sessions, "session")}, ${plural(written.messages, "message")}.`);
      if (written.sessions === 0) note(io, "There is nothing to export yet, so the file is empty.");
    } finally {
      file?.abandon();
    }
  },
});

async function named(store: Store, who: Asker, names: readonly string[]): Promise<readonly Session[]> {
  const found = new Map<string, Session>();
  for (const name of names) {
    const session = await sessionArgument(store, who, name);
    found.set(session.id, session);
  }
  return [...found.values()];
}

/** Oldest first, so that an import makes them in the same order. */
async function everything(store: Store, who: Asker): Promise<readonly Session[]> {
  const found: Session[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const query = { asker: who, archived: "both", limit: 1000 } as const;
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.items);
    cursor = page.cursor;
  }
  return found.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

interface Exported {
  readonly text: string;
  readonly messages: number;
}

async function line(sessions: Sessions, who: Asker, id: string): Promise<Exported | undefined> {
  const exported = await sessions.export(who, id);
  return exported && { text: `${JSON.stringify(exported)}\n`, messages: exported.messages.length };
}

async function markdown({ store }: OpenHome, who: Asker, session: Session): Promise<Exported> {
  const messages = (await store.history({ asker: who, session: session.id })) ?? [];
  return { text: `${transcript(session, messages, systemZone())}\n`, messages: messages.length };
}

interface NewFile {
  write(text: string): void;
  end(): { readonly path: string; readonly bytes: number };
  /** Leaves nothing behind, unless it has ended. */
  abandon(): void;
}

/** A file that is there whole or not at all, and for its owner alone. */
function newFile(path: string, force: boolean): NewFile {
  if (!force && existsSync(path)) {
    throw new PostriderError("file_exists", `${path} is there already. Name another file, or say --force.`, {
      details: { file: path },
    });
  }
  const unfinished = unfinishedName(path);
  let bytes = 0;
  try {
    makePrivateFile(unfinished);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new PostriderError("invalid_input", `${path} cannot be written (${code}). Name another place.`, {
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
      giveName(unfinished, path, force);
      return { path, bytes };
    },
    abandon: () => rmSync(unfinished, { force: true }),
  };
}
