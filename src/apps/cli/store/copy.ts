import { PostriderError } from "../../../core/errors.ts";
import { pluralize } from "../../../core/pluralize.ts";
import type { CopySource, CopyTarget } from "../../../stores/copy/copy-end.ts";
import { type CopyStep, copyStore, type StoreCopyResult } from "../../../stores/copy/copy-store.ts";
import { prepareAsyncTwin, readPostgresAddress, type StoreAddress } from "../../open-store.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, printJson, printLine } from "../io.ts";
import { createProgress, type Progress } from "../progress.ts";

/** Copies a whole store into an empty one, of the same kind or the other. */
export const copyStoreCommand: Command = defineCommand({
  name: "store copy",
  takes: "FROM TO",
  words: [2, 2],
  about: `Copies all data of the store FROM into the empty store TO. An address is sqlite:FILE or postgres://… (with ?schema=NAME).
No gateway or other process may use either of them, and nobody can write to FROM meanwhile. If the copy is interrupted,
the same command continues it. Postrider compares both stores before TO can be used. FROM stays as it is.`,
  options: {
    restart: { type: "flag", help: "empty an unfinished copy in TO, and start again" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider store copy sqlite:postrider.db postgres://user@host/postrider", "move to PostgreSQL"],
    [
      "postrider store copy 'postgres://user@host/postrider?schema=team' sqlite:team.db",
      "move a schema back to a file",
    ],
  ],
  async run({ words: [from = "", to = ""], values }, io) {
    const [fromAddress, toAddress] = [parseAddress(from, "FROM", io), parseAddress(to, "TO", io)];
    const source = await openSource(fromAddress);
    const progress = createStepProgress(io);
    try {
      const target = await openTarget(toAddress);
      try {
        const result = await copyStore({
          source,
          target,
          restart: values.restart,
          now: () => io.now(),
          onProgress: progress.update,
        });
        progress.end();
        if (values.json) printJson(io, result);
        else printLine(io, formatResult(result));
      } finally {
        await target.close();
      }
    } finally {
      progress.end();
      await source.close();
    }
  },
});

/** One line of progress, whose first word is the current step. */
function createStepProgress(io: Io): {
  update(step: CopyStep, done: number, all: number, table: string): void;
  end(): void;
} {
  let current: { readonly step: CopyStep; readonly line: Progress } | undefined;
  const end = (): void => current?.line.end();
  return {
    update(step, done, all, table) {
      if (current?.step !== step) {
        end();
        current = { step, line: createProgress(io, step) };
      }
      current.line.update(done, all, table);
    },
    end,
  };
}

function parseAddress(text: string, argument: string, io: Io): StoreAddress {
  if (/^postgres(?:ql)?:\/\//.test(text)) return { kind: "postgres", url: text };
  const file = /^sqlite:(.+)$/s.exec(text)?.[1];
  // The shell expands ~ only at the start of a word.
  if (file !== undefined)
    return { kind: "sqlite", file: file.replace(/^~(?=\/)/, io.environment.HOME ?? "~") };
  // The text may contain a password.
  throw new PostriderError(
    "invalid_input",
    `${argument} is not the address of a store. Write sqlite:FILE or postgres://user:password@host/database.`,
    { details: { field: argument, arguments: true } },
  );
}

async function openSource(address: StoreAddress): Promise<CopySource> {
  if (address.kind === "sqlite") {
    const { openSqliteSource } = await import("../../../stores/sqlite/upkeep/copy-source.ts");
    return openSqliteSource(address.file);
  }
  await prepareAsyncTwin();
  const { openPostgresSource } = await import("../../../stores/postgres/copy/source.ts");
  return openPostgresSource(readPostgresAddress(address.url));
}

async function openTarget(address: StoreAddress): Promise<CopyTarget> {
  if (address.kind === "sqlite") {
    const { openSqliteTarget } = await import("../../../stores/sqlite/upkeep/copy-target.ts");
    return openSqliteTarget(address.file);
  }
  await prepareAsyncTwin();
  const { openPostgresTarget } = await import("../../../stores/postgres/copy/target.ts");
  return openPostgresTarget(readPostgresAddress(address.url));
}

function formatResult({ to, copy, sessions, messages, rows }: StoreCopyResult): string {
  const what = `${pluralize(sessions, "session")}, ${pluralize(messages, "message")}, ${pluralize(rows, "row")}`;
  return `${to}: ${what}, ${copy === "finished" ? "copied before, " : ""}verified.`;
}
