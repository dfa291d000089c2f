import { pluralize } from "../../../core/pluralize.ts";
import { type CopyStep, copyStore, type StoreCopyResult } from "../../../stores/copy/copy-store.ts";
import { openCopySource, openCopyTarget, parseStoreAddress } from "../../open-copy-end.ts";
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
    const { HOME = "~" } = io.environment;
    const fromAddress = parseStoreAddress(from, "FROM", HOME);
    const toAddress = parseStoreAddress(to, "TO", HOME);
    const source = await openCopySource(fromAddress);
    const progress = createStepProgress(io);
    try {
      const target = await openCopyTarget(toAddress);
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

function formatResult({ to, copy, sessions, messages, rows }: StoreCopyResult): string {
  const what = `${pluralize(sessions, "session")}, ${pluralize(messages, "message")}, ${pluralize(rows, "row")}`;
  return `${to}: ${what}, ${copy === "finished" ? "copied before, " : ""}verified.`;
}
