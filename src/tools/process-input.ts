import type { Process } from "../core/process.ts";
import { type CommandContext, NO_CONTEXT } from "./command-analysis/command-context.ts";
import { isShell } from "./command-analysis/executed-scripts.ts";
import { findDanger } from "./command-analysis/find-danger.ts";
import { isInterpreter } from "./command-analysis/interpreters.ts";
import { findCalls } from "./command-analysis/program-call.ts";
import { readShell } from "./command-analysis/read-shell.ts";
import { isCompoundCommand, type ShellScript } from "./command-analysis/shell-script.ts";

/** How a process interprets its input: shell commands, code, SQL, or data. */
export type InputKind =
  | { readonly kind: "shell" }
  | { readonly kind: "code" | "sql"; readonly program: string }
  | { readonly kind: "data" };

/** The classification of a piece of input together with the unfinished line. */
export interface InputJudgement {
  /** The unfinished line plus the new piece. */
  readonly line: string;
  /** The reason for an approval, if one is needed. It follows "that". */
  readonly why?: string;
  /** The whole line is unknown, so an approval covers only this piece. */
  readonly isUnclear: boolean;
  /** The unfinished line afterwards; undefined if unknown. */
  readonly unfinished?: string;
}

const DATA_PROGRAMS: ReadonlySet<string> = new Set(
  "cat tee wc sort uniq grep egrep fgrep rev tr nl tac head tail cut base64 md5sum sha1sum sha256sum sleep true false echo printf".split(
    " ",
  ),
);
const SQL_PROGRAMS =
  /^(?:psql|mysql|mariadb|sqlite3|sqlite|duckdb|clickhouse-client|sqlplus|redis-cli|mongosh|mongo)$/;
/** Keys that edit a line or recall another one. */
const EDITING_KEYS = /[^\P{Cc}\n\r\t]/u;
/** History expansion: `!!`, `!rm`, `^a^b`. */
const HISTORY_EXPANSION = /(?:^|[^\\'$\w])![!\w?$^*#:-]|^\s*\^/m;
const END_OF_INPUT = "\u0004";
/** A longer line is not stored and counts as unknown. */
const MAX_LINE_LENGTH = 16_384;
const HERE_DOCUMENT_END = "END_OF_INPUT_OF_A_PROCESS";

/** Classifies a piece of input. `before` is the unfinished line, or undefined if unknown. */
export function judgeInput(
  text: string,
  { before, kind, context }: { before: string | undefined; kind: InputKind; context: CommandContext },
): InputJudgement {
  if (kind.kind === "data") return { line: text, isUnclear: false, unfinished: "" };
  // Ctrl-C discards the line.
  if (text === "\x03") return { line: "", isUnclear: false, unfinished: "" };
  // Ctrl-D submits the unfinished line, as Enter does.
  const piece = text.replaceAll(END_OF_INPUT, "\n").replace(/\r\n?/g, "\n");
  const line = `${before ?? ""}${piece}`;
  if (EDITING_KEYS.test(piece) || (kind.kind === "shell" && piece.includes("\t")))
    return {
      line,
      isUnclear: true,
      why: "edits the line with control characters, so that its content is unknown",
    };
  if (before === undefined && piece.includes("\n"))
    return {
      line,
      isUnclear: true,
      why: "ends a line whose start is unknown",
      unfinished: findUnfinishedRest(piece, kind),
    };
  const danger = findDanger(toScript(line, kind), context)?.why;
  const isRepeating = kind.kind === "shell" && HISTORY_EXPANSION.test(line);
  const why = danger ?? (isRepeating ? "repeats or edits an earlier line that is unknown here" : undefined);
  const rest = before === undefined ? undefined : findUnfinishedRest(line, kind);
  return {
    line,
    isUnclear: before === undefined,
    ...(why !== undefined && { why }),
    ...(rest !== undefined && rest.length <= MAX_LINE_LENGTH && { unfinished: rest }),
  };
}

/** The unfinished line after a person has written to a process; undefined if unknown. */
export function findUnfinished(text: string, process: Process): string | undefined {
  const options = { before: process.unfinishedInput, kind: detectInputKind(process), context: NO_CONTEXT };
  return judgeInput(text, options).unfinished;
}

/** Turns the line into a command for the analysis: code and SQL become a here-document of their interpreter. */
function toScript(line: string, kind: InputKind): string {
  if (kind.kind === "code" || kind.kind === "sql")
    return `${kind.program} <<'${HERE_DOCUMENT_END}'\n${line}\n${HERE_DOCUMENT_END}`;
  return line;
}

/** The unfinished rest: a line without an end, or an open quote, block or statement. */
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

/** How a process interprets its input, by its command. An unknown one may be a shell. */
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
