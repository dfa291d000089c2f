import type { Process } from "../core/process.ts";
import { type CommandContext, NO_CONTEXT } from "./command-analysis/command-context.ts";
import { isShell } from "./command-analysis/executed-scripts.ts";
import { findDanger } from "./command-analysis/find-danger.ts";
import { isInterpreter } from "./command-analysis/interpreters.ts";
import { findCalls } from "./command-analysis/program-call.ts";
import { readShell } from "./command-analysis/read-shell.ts";
import { isCompoundCommand, type ShellScript } from "./command-analysis/shell-script.ts";

/** How a process takes what is written to it: as commands of a shell, as code, as SQL, or as nothing but data. */
export type InputKind =
  | { readonly kind: "shell" }
  | { readonly kind: "code" | "sql"; readonly program: string }
  | { readonly kind: "data" };

/** What a piece of input does together with the pieces before it. */
export interface InputJudgement {
  /** The unfinished line with the new piece. */
  readonly line: string;
  /** Why a person is asked, if it must be. Goes on after "that". */
  readonly why?: string;
  /** The line cannot be known as a whole: an answer holds for this piece only. */
  readonly isUnclear: boolean;
  /** What is unfinished afterwards; undefined if that cannot be known. */
  readonly unfinished?: string;
}

const DATA_PROGRAMS: ReadonlySet<string> = new Set(
  "cat tee wc sort uniq grep egrep fgrep rev tr nl tac head tail cut base64 md5sum sha1sum sha256sum sleep true false echo printf".split(
    " ",
  ),
);
const SQL_PROGRAMS =
  /^(?:psql|mysql|mariadb|sqlite3|sqlite|duckdb|clickhouse-client|sqlplus|redis-cli|mongosh|mongo)$/;
/** Keys that edit a line, or bring back another one. */
const EDITING_KEYS = /[^\P{Cc}\n\r\t]/u;
/** `!!`, `!rm`, `^a^b`: an interactive shell puts earlier lines in their place. */
const HISTORY_EXPANSION = /(?:^|[^\\'$\w])![!\w?$^*#:-]|^\s*\^/m;
const END_OF_INPUT = "\u0004";
/** More is not kept: then the line is not known any more. */
const LONGEST_LINE = 16_384;
const HERE_DOCUMENT_END = "END_OF_INPUT_OF_A_PROCESS";

/** Reads a piece of input with the unfinished line before it. `before` is undefined where that line is not known. */
export function judgeInput(
  text: string,
  { before, kind, context }: { before: string | undefined; kind: InputKind; context: CommandContext },
): InputJudgement {
  if (kind.kind === "data") return { line: text, isUnclear: false, unfinished: "" };
  // Interrupting ends the line without running it.
  if (text === "\x03") return { line: "", isUnclear: false, unfinished: "" };
  // The end of the input hands over what is unfinished, as Enter does.
  const piece = text.replaceAll(END_OF_INPUT, "\n").replace(/\r\n?/g, "\n");
  const line = `${before ?? ""}${piece}`;
  if (EDITING_KEYS.test(piece) || (kind.kind === "shell" && piece.includes("\t")))
    return {
      line,
      isUnclear: true,
      why: "changes the line with control characters, so that it cannot be read",
    };
  if (before === undefined && piece.includes("\n"))
    return {
      line,
      isUnclear: true,
      why: "ends a line whose beginning is not known",
      unfinished: findUnfinishedRest(piece, kind),
    };
  const danger = findDanger(toScript(line, kind), context)?.why;
  const isRepeating = kind.kind === "shell" && HISTORY_EXPANSION.test(line);
  const why =
    danger ?? (isRepeating ? "repeats or changes an earlier line that cannot be seen here" : undefined);
  const rest = before === undefined ? undefined : findUnfinishedRest(line, kind);
  return {
    line,
    isUnclear: before === undefined,
    ...(why !== undefined && { why }),
    ...(rest !== undefined && rest.length <= LONGEST_LINE && { unfinished: rest }),
  };
}

/** What is unfinished in the input of a process after a person has written to it; undefined if nobody can tell. */
export function findUnfinished(text: string, process: Process): string | undefined {
  const options = { before: process.unfinishedInput, kind: detectInputKind(process), context: NO_CONTEXT };
  return judgeInput(text, options).unfinished;
}

/** The text as a command that can be judged: code and SQL as the input of what runs it. */
function toScript(line: string, kind: InputKind): string {
  if (kind.kind === "code" || kind.kind === "sql")
    return `${kind.program} <<'${HERE_DOCUMENT_END}'\n${line}\n${HERE_DOCUMENT_END}`;
  return line;
}

/** What of the text is not finished: a line without its end, and a quote, block or statement that goes on. */
function findUnfinishedRest(text: string, kind: InputKind): string {
  const end = text.lastIndexOf("\n") + 1;
  if (end === 0 || isUnfinished(text.slice(0, end), kind)) return text;
  return text.slice(end);
}

function isUnfinished(lines: string, kind: InputKind): boolean {
  if (kind.kind === "shell") return readShell(lines).isUnfinished;
  if (kind.kind === "sql")
    return !/(?:;|^\s*\\.*|^\s*\..*|^)\s*$/.test(lines.trimEnd().split("\n").at(-1) ?? "");
  const opened = lines.match(/[([{]/g)?.length ?? 0;
  const closed = lines.match(/[)\]}]/g)?.length ?? 0;
  return opened > closed || /[\\:]\s*$/.test(lines);
}

/** What a process does with its input, as far as its command tells. One that is not known may be a shell. */
export function detectInputKind({ command }: Pick<Process, "command">): InputKind {
  const programs = listPrograms(readShell(command).script);
  if (
    programs.some(
      (program) => isShell({ program }) || /^(?:ssh|su|sudo|eval|script|tmux|screen)$/.test(program),
    )
  )
    return { kind: "shell" };
  const code = programs.find((program) => isInterpreter(program));
  if (code !== undefined) return { kind: "code", program: code };
  const sql = programs.find((program) => SQL_PROGRAMS.test(program));
  if (sql !== undefined) return { kind: "sql", program: sql };
  return programs.length > 0 && programs.every((program) => DATA_PROGRAMS.has(program))
    ? { kind: "data" }
    : { kind: "shell" };
}

function listPrograms(script: ShellScript): readonly string[] {
  return script.flatMap(({ members }) =>
    members.flatMap((member) =>
      isCompoundCommand(member)
        ? listPrograms(member.body)
        : findCalls(member.words).map(({ program }) => program),
    ),
  );
}
