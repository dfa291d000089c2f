import { PostriderError } from "../../core/errors.ts";

/** A problem in the configuration: its place, and the expected value. */
export interface ConfigProblem {
  readonly file?: string;
  /** Counted from 1; present with a file. */
  readonly line?: number;
  readonly column?: number;
  /** The environment variable, if the value comes from one. */
  readonly variable?: string;
  readonly key?: string;
  /** The rest of the sentence after the key: "must be …". It contains no secret. */
  readonly text: string;
  /** The setting is ignored, and the rest is used. */
  readonly ignored?: boolean;
}

/** `/home/ada/.postrider/config.yaml:3: session_reset.at_hour must be a whole number from 0 to 23, not 24.` */
export function formatConfigProblem({ file, line, variable, key, text }: ConfigProblem): string {
  const location = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
  const subject = variable === undefined ? key : key === undefined ? variable : `${variable} (${key})`;
  return `${location}${subject === undefined ? "" : `${subject} `}${endSentence(text)}`;
}

function endSentence(text: string): string {
  return text.endsWith("?") ? text : `${text}.`;
}

export function configProblemToJson({
  file,
  line,
  column,
  variable,
  key,
  text,
  ignored = false,
}: ConfigProblem): object {
  return {
    file: file ?? null,
    line: line ?? null,
    column: column ?? null,
    variable: variable ?? null,
    key: key ?? null,
    text: endSentence(text),
    ignored,
  };
}

/** One error for all problems. */
export function createInvalidConfigError(problems: readonly ConfigProblem[], lead?: string): PostriderError {
  const lines = problems.map(formatConfigProblem);
  const [only = ""] = lines;
  const text =
    lines.length === 1 && lead === undefined
      ? only
      : `${lead ?? `The configuration has ${lines.length} problems:`}\n  ${lines.join("\n  ")}`;
  return new PostriderError("invalid_config", text, {
    details: { path: problems[0]?.key ?? null, problems: problems.map(configProblemToJson) },
  });
}

/** Formats a value for a message: short, on one line. */
export function formatRawValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a mapping";
  if (typeof value === "string" && /^[\w.+-]{1,40}$/.test(value)) return value;
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 59)}…"` : text;
}

/** Formats a key, unless it could be a misplaced secret. */
export function formatKeyName(name: string): string {
  return /^[A-Za-z_][\w-]{0,29}$/.test(name) ? name : "(an invalid name)";
}
