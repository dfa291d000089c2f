import { CODE_RULES } from "./code-rules.ts";
import { type CommandContext, NO_CONTEXT } from "./command-context.ts";
import type { DangerRule, ProgramInput } from "./danger-rule.ts";
import { DATABASE_RULES } from "./database-rules.ts";
import { isRunningVariable } from "./environment-rules.ts";
import { findRunOutputs, findScripts, findScriptWords, isRunningInput, isShell } from "./executed-scripts.ts";
import { FILE_RULES } from "./file-rules.ts";
import { GIT_RULES } from "./git-rules.ts";
import { isGlob } from "./glob.ts";
import { isInterpreter } from "./interpreters.ts";
import { MACHINE_RULES } from "./machine-rules.ts";
import { MARK, removeMarks } from "./marks.ts";
import { NETWORK_RULES } from "./network-rules.ts";
import { OPTION_RULES } from "./option-rules.ts";
import { OWN_RULES } from "./own-commands.ts";
import { type Cwds, createPathJudge, joinCwds, type PathJudge } from "./path-judge.ts";
import { findCalls, hasTooManyCalls, type ProgramCall } from "./program-call.ts";
import { NO_INPUT, traceInput, traceMemberOutput, traceScriptOutput } from "./program-input.ts";
import { isReachingHome } from "./reached-paths.ts";
import { readShell } from "./read-shell.ts";
import { SECRET_RULES } from "./secret-rules.ts";
import { canBeSecret, classifyWrite, type SensitiveWrite } from "./sensitive-paths.ts";
import type { ShellVariables } from "./shell-cursor.ts";
import {
  type CompoundCommand,
  isCompoundCommand,
  isInSubshell,
  type Pipeline,
  type ShellScript,
  type ShellWord,
  type SimpleCommand,
} from "./shell-script.ts";
import { findStartedIndexOf, STARTERS } from "./starters.ts";
import { findWrittenFiles } from "./written-files.ts";

/** The reason for an approval of a command. */
export interface Danger {
  /** Short and stable; `a+b` for two kinds. An approval covers exactly these kinds. */
  readonly kind: string;
  /** Continues a sentence that starts with "it": "deletes files and folders with all their content". */
  readonly why: string;
}

/**
 * Finds the dangers of a shell command in its text. It guards against accidents and is not a sandbox: it does not read
 * script files. It never runs the command, and its time is linear.
 */
export function findDanger(command: string, context: CommandContext = NO_CONTEXT): Danger | undefined {
  if (command.length > MAX_READ_LENGTH) return TOO_LONG;
  const found = new Map<string, string>();
  const judge = createPathJudge(context);
  const cwds: Cwds = { folders: [context.cwd], isUnsure: context.isCwdUnsure === true };
  const variables: ShellVariables = { values: new Map(), unsure: new Set() };
  const aliases = new Map<string, string>();
  if (command.trim() !== "" && judge.isInsideHome({ text: context.cwd, substitutions: [] }, cwds))
    recordHomeAccess(found);
  inspectText(removeMarks(command), {
    found,
    depth: 0,
    variables,
    aliases,
    judge,
    location: { cwds },
    isCaptured: false,
    budget: { left: 6 * command.length + 32_768 },
  });
  if (found.size === 0) return undefined;
  return { kind: [...found.keys()].sort().join("+"), why: [...found.values()].join(", and ") };
}

/** A person cannot review a longer command, and its analysis would take too long. */
const MAX_READ_LENGTH = 20_000;
const TOO_LONG: Danger = { kind: "too-long", why: "is too long to be checked" };

const RULES: readonly DangerRule[] = [
  ...FILE_RULES,
  ...GIT_RULES,
  ...MACHINE_RULES,
  ...NETWORK_RULES,
  ...SECRET_RULES,
  ...CODE_RULES,
  ...DATABASE_RULES,
  ...OPTION_RULES,
  ...OWN_RULES,
];

const WRITE_REASONS: Readonly<Record<SensitiveWrite, string>> = {
  disk: "writes to a disk device or unmounts one",
  "postrider-data": "deletes or changes Postrider's own data",
  "ssh-access": "changes who can log in to this machine",
  startup: "changes programs that start automatically",
  "system-file": "changes system files",
  overwrite: "overwrites settings in the home folder, or secrets",
};

/** The maximum nesting of scripts. */
const MAX_DEPTH = 8;
/** The fixed cost of a script, in characters. */
const SCRIPT_COST = 256;

interface Inspection {
  readonly found: Map<string, string>;
  readonly depth: number;
  readonly variables: ShellVariables;
  readonly aliases: Map<string, string>;
  readonly judge: PathJudge;
  /** The current folder; `cd` changes it. */
  readonly location: { cwds: Cwds };
  /** Its output becomes arguments of a command. */
  readonly isCaptured: boolean;
  /** The remaining budget for nested scripts, which keeps the time linear. */
  readonly budget: { left: number };
  /** The functions of the script, and those that enclose this code. */
  readonly functions?: ReadonlySet<string>;
  readonly enclosingFunctions?: readonly string[];
}

function inspectText(text: string, looking: Inspection): void {
  const { found, depth, variables } = looking;
  looking.budget.left -= depth === 0 ? 0 : text.length + SCRIPT_COST;
  const isTooDeep = depth > MAX_DEPTH || looking.budget.left < 0;
  const read = isTooDeep ? undefined : readShell(text, variables);
  if (read === undefined || read.isTooComplex) recordUnreadable(found);
  if (read !== undefined) inspectScript(read.script, { ...looking, functions: read.functions });
}

function inspectScript(script: ShellScript, looking: Inspection): void {
  const { location } = looking;
  for (const line of script) {
    const before = location.cwds;
    let feed = NO_INPUT;
    for (const [at, member] of line.members.entries()) {
      if (isCompoundCommand(member)) inspectCompound(member, looking, feed);
      else inspectCommand(member, feed, line, at, looking);
      if (isInSubshell(line)) location.cwds = joinCwds(before, location.cwds);
      feed = traceMemberOutput(member, feed);
    }
  }
}

function inspectCompound(
  { body, functionName, words = [] }: CompoundCommand,
  looking: Inspection,
  feed: ProgramInput,
): void {
  const { enclosingFunctions = [], location } = looking;
  for (const { substitutions } of words)
    for (const script of substitutions) inspectScript(script, { ...looking, isCaptured: true });
  const before = location.cwds;
  const inner =
    functionName === undefined
      ? looking
      : { ...looking, enclosingFunctions: [...enclosingFunctions.slice(-MAX_DEPTH), functionName] };
  inspectScript(body, inner);
  // Programs inside a group read its input.
  if (feed.isPiped)
    for (const line of body)
      if (line.members[0] !== undefined && !isCompoundCommand(line.members[0]))
        inspectInput(line.members[0], feed, inner);
  // A subshell does not change the folder of its parent; a block does.
  location.cwds = joinCwds(before, location.cwds);
}

function inspectCommand(
  step: SimpleCommand,
  piped: ProgramInput,
  line: Pipeline,
  at: number,
  looking: Inspection,
): void {
  const { found, judge, location } = looking;
  const { words, assignments, redirects } = step;
  for (const { substitutions } of [...assignments, ...words, ...redirects.map(({ word }) => word)])
    for (const script of substitutions) inspectScript(script, { ...looking, isCaptured: true });
  const feed = traceInput(step, piped);
  const calls = findCalls(words);
  if (hasTooManyCalls(calls)) recordUnreadable(found);
  if (isForkBomb(calls, line, looking))
    found.set("fork-bomb", "starts copies of itself without end (fork bomb)");
  const [program] = words;
  if (program !== undefined) inspectProgramWord(program, found);
  for (const { name, text } of assignments) if (isRunningVariable(name, text)) recordRunningVariable(found);
  for (const call of calls) inspectCall(call, feed, looking);
  inspectFiles(step, calls, looking);
  if (isReachingHome({ step, calls, line, at, judge, cwds: location.cwds, isCaptured: looking.isCaptured }))
    recordHomeAccess(found);
  const sinks = [...words, ...redirects.map(({ word }) => word)].flatMap((word) => word.sinks ?? []);
  if (sinks.length > 0) {
    const output = traceMemberOutput(step, piped);
    for (const { members } of sinks.flat())
      if (members[0] !== undefined && !isCompoundCommand(members[0]))
        inspectInput(members[0], output, looking);
  }
  for (const call of calls) changeFolder(call, looking);
}

function inspectCall(call: ProgramCall, feed: ProgramInput, looking: Inspection): void {
  const { found, aliases, location } = looking;
  const { folders } = location.cwds;
  for (const { kind, why, matches } of RULES) if (matches(call, feed, folders)) found.set(kind, why);
  for (const text of call.argTexts) {
    const [, name = "", value = ""] = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(text) ?? [];
    if (name !== "" && isRunningVariable(name, value) && SETTERS.test(call.program))
      recordRunningVariable(found);
  }
  if (isRunningInput(call)) recordUnseen(feed, found);
  if (isHidden(call, feed)) recordHidden(found);
  for (const output of findRunOutputs(call)) {
    const printed = traceScriptOutput(output);
    recordUnseen(printed, found);
    if (printed.text !== undefined) inspectText(printed.text, { ...looking, depth: looking.depth + 1 });
  }
  for (const text of [...findScripts(call, feed), ...expandXargs(call, feed), ...expandAlias(call, aliases)])
    if (text.trim() !== "") inspectText(text, { ...looking, depth: looking.depth + 1 });
  if (call.program === "alias")
    for (const text of call.argTexts) {
      const [name = "", value] = text.split(/=(.*)/s);
      if (value !== undefined && aliases.size < 64) aliases.set(name, value);
      if (isRedefined(name, value ?? "")) recordHidden(found);
    }
}

const SETTERS = /^(?:env|export|declare|typeset|local|readonly|sudo|doas|systemd-run|setenv|set)$/;

/** Whether an alias hides a well-known name. */
function isRedefined(name: string, value: string): boolean {
  const [first = ""] = value.trim().split(/\s/, 1);
  return (
    /^(?:ls|ll|cd|cat|echo|git|grep|npm|node|make|test|pwd|true)$/.test(name) &&
    /^(?:.*\/)?(?:rm|dd|sudo|sh|bash|eval|curl|mv|shred)$/.test(first)
  );
}

/** The script that an alias produces. */
function expandAlias(
  { program, argTexts }: ProgramCall,
  aliases: ReadonlyMap<string, string>,
): readonly string[] {
  const value = aliases.get(program);
  return value === undefined || value.startsWith(program)
    ? []
    : [`${value} ${argTexts.map(quote).join(" ")}`];
}

/** The command that xargs builds from known words. */
function expandXargs({ program, argTexts }: ProgramCall, { text }: ProgramInput): readonly string[] {
  if ((program !== "xargs" && program !== "gxargs") || text === undefined) return [];
  const sign = findReplaceString(argTexts);
  const started = argTexts.slice(findStartedIndexOf(argTexts, program));
  const words = text.replace(/\n/g, " ");
  if (sign === undefined) return [`${started.map(quote).join(" ")} ${words}`];
  return [
    started.map((arg) => (arg.includes(sign) ? arg.replaceAll(sign, () => words) : quote(arg))).join(" "),
  ];
}

function findReplaceString(given: readonly string[]): string | undefined {
  const at = given.findIndex((arg) => /^-[IiJ]|^--replace/.test(arg));
  if (at < 0) return undefined;
  const attached = (given[at] ?? "").replace(/^-[IiJ]|^--replace=?/, "");
  return attached !== "" ? attached : given[at]?.startsWith("-I") ? (given[at + 1] ?? "{}") : "{}";
}

function quote(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Whether the program or script is computed at run time. */
function isHidden(call: ProgramCall, feed: ProgramInput): boolean {
  const { program, argTexts, args, isBatch } = call;
  if (
    findScriptWords(call).some(
      ({ markedText = "" }) => markedText.includes(MARK.made) || markedText.includes(MARK.madeSplit),
    )
  )
    return true;
  if (isBatch && (findScriptWords(call).some(({ text }) => text === "{}") || call.path === "{}")) return true;
  // The script file is the output of a program: `make -f <(…)`.
  if (/^(?:[gmn]?awk|g?make|g?sed)$/.test(program))
    if (
      args.some(
        ({ substitutions }, at) =>
          substitutions.length > 0 && /^-[a-zA-Z]*f$|^--file$/.test(argTexts[at - 1] ?? ""),
      )
    )
      return true;
  if (program === "xargs" || program === "gxargs" || program === "parallel") {
    const sign = findReplaceString(argTexts) ?? "{}";
    const started = args[findStartedIndexOf(argTexts, program)];
    return started !== undefined && (started.text.includes(sign) || isUnknownProgram(started));
  }
  if (Object.hasOwn(STARTERS, program)) {
    const started = args[findStartedIndexOf(argTexts, program)];
    if (started === undefined) return isBatch && program !== "command" && feed.text === undefined;
    return isUnknownProgram(started) || (isBatch && started.text === "{}");
  }
  const isOpen =
    isBatch && (isShell(call) || isInterpreter(program)) && argTexts.every((arg) => arg.startsWith("-"));
  return isOpen && feed.text === undefined;
}

function isUnknownProgram({ unknown, hasUnknownName, text }: ShellWord): boolean {
  return (unknown !== undefined && hasUnknownName === true) || (isGlob(text) && !text.startsWith("["));
}

function inspectProgramWord(word: ShellWord, found: Map<string, string>): void {
  for (const output of word.substitutions) {
    const { isFetched } = traceScriptOutput(output);
    recordUnseen({ isFetched, isMade: false }, found);
  }
  // `/bin/r?` and `$x` can be any program.
  if (word.hasUnknownName === true || /[*?]|\[.+\]/.test(word.text.slice(0, 256))) recordHidden(found);
}

function inspectInput(step: SimpleCommand, feed: ProgramInput, looking: Inspection): void {
  if (traceInput(step, feed) !== feed) return;
  for (const call of findCalls(step.words)) {
    if (isRunningInput(call)) recordUnseen(feed, looking.found);
    for (const text of findScripts(call, feed))
      if (text !== "") inspectText(text, { ...looking, depth: looking.depth + 1 });
  }
}

/** Includes redirections of groups and loops, and `$(<file)`. */
function inspectFiles(
  { words, redirects }: SimpleCommand,
  calls: readonly ProgramCall[],
  looking: Inspection,
): void {
  const { found, location } = looking;
  const { folders } = location.cwds;
  if (redirects.some(({ mode, word }) => mode === "read" && canBeSecret(word.text, folders)))
    found.set("secret", "reads keys, passwords or tokens");
  const isTest = words[0]?.text === "[[";
  const written = redirects.flatMap(({ mode, word }) =>
    (mode === "write" || mode === "append") && !isTest
      ? [{ path: word.text, isReplaced: mode === "write" }]
      : [],
  );
  for (const { path, isReplaced } of [...written, ...calls.flatMap(findWrittenFiles)]) {
    const what = classifyWrite(path, isReplaced) ?? classifyRelativeWrite(path, isReplaced, folders);
    if (what !== undefined) found.set(what, WRITE_REASONS[what]);
  }
  const opened = [
    ...redirects.map(({ word }) => word.text),
    ...calls.flatMap(findWrittenFiles).map(({ path }) => path),
  ];
  if (opened.some((path) => /^\/dev\/(?:tcp|udp)\//.test(path)))
    found.set("remote-shell", "opens a shell or a raw connection to another machine");
}

/** Resolves a relative path in the current folder: `cd /etc && echo x > hosts`. */
function classifyRelativeWrite(
  path: string,
  isReplaced: boolean,
  folders: readonly string[],
): SensitiveWrite | undefined {
  if (/^[/~$]/.test(path) || path.length > 1024) return undefined;
  for (const folder of folders) {
    const what =
      folder === "/" && !path.includes("/") ? undefined : classifyWrite(`${folder}/${path}`, isReplaced);
    // Other rules check Postrider's own folder, because they know the workspaces.
    if (what !== undefined && what !== "postrider-data") return what;
  }
  return undefined;
}

function changeFolder({ program, operands, args }: ProgramCall, { judge, location }: Inspection): void {
  if (program !== "cd" && program !== "pushd" && program !== "popd" && program !== "chdir") return;
  const target = args.find(({ text }) => !/^-[LPe@n]+$/.test(text) && text !== "--");
  const isBack = program === "popd" || operands[0] === "-" || (program === "pushd" && target === undefined);
  location.cwds = isBack
    ? { ...location.cwds, isUnsure: true }
    : judge.changeDirectory(target ?? { text: "~", substitutions: [] }, location.cwds);
}

/** Reports code that runs but cannot be read here. */
function recordUnseen(
  { isFetched, isMade }: Pick<ProgramInput, "isFetched" | "isMade">,
  found: Map<string, string>,
): void {
  if (isFetched) found.set("remote-script", "runs code from another machine without a review");
  if (isMade) recordHidden(found);
}

function recordHidden(found: Map<string, string>): void {
  found.set("hidden-command", "runs code that is obfuscated or computed");
}

function recordHomeAccess(found: Map<string, string>): void {
  found.set("postrider-home", "accesses Postrider's own folder");
}

function recordUnreadable(found: Map<string, string>): void {
  found.set("unreadable", "is too complex to be checked");
}

function recordRunningVariable(found: Map<string, string>): void {
  found.set("runs-program", "makes a program run another program through an option or a setting");
}

/** Whether a function or script starts itself more than once. */
function isForkBomb(
  calls: readonly ProgramCall[],
  { members, isInBackground }: Pipeline,
  { enclosingFunctions = [], functions = new Set() }: Inspection,
): boolean {
  const isSplit = isInBackground || members.length > 1;
  const program = calls.at(-1)?.program;
  if (!isSplit || program === undefined) return false;
  if (program === "$0" || enclosingFunctions.includes(program)) return true;
  return enclosingFunctions.length > 0 && isInBackground && members.length > 1 && functions.has(program);
}
