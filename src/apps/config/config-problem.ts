import { PostriderError } from "../../core/errors.ts";

/** Something in the configuration that cannot be used: where it stands, and what was expected there. */
export interface ConfigProblem {
  readonly file?: string;
  /** From 1 on; always there with a file. */
  readonly line?: number;
  readonly column?: number;
  /** The environment's variable, when it stands there. */
  readonly variable?: string;
  readonly key?: string;
  /** A sentence without its beginning: "must be …". No secret is in it. */
  readonly text: string;
  /** It was left out, and the rest can be used. */
  readonly ignored?: boolean;
}

/** `/home/ada/.postrider/config.yaml:3: session_reset.at_hour must be a whole number from 0 to 23, not 24.` */
export function formatConfigProblem({ file, line, variable, key, text }: ConfigProblem): string {
  const place = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
  const subject = variable === undefined ? key : key === undefined ? variable : `${variable} (${key})`;
  return `${place}${subject === undefined ? "" : `${subject} `}${endSentence(text)}`;
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

/** All of them in one error. */
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

/** What stands there, for people to find it: short, and on one line. */
export function formatRawValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a mapping";
  if (typeof value === "string" && /^[\w.+-]{1,40}$/.test(value)) return value;
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 59)}…"` : text;
}

/** A key as it was written, unless it could be a secret that slipped to the wrong side of a colon. */
export function formatKeyName(name: string): string {
  return /^[A-Za-z_][\w-]{0,29}$/.test(name) ? name : "(a name that is none)";
}
