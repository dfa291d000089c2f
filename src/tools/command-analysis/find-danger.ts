import { type Call, callsIn, isEndless } from "./call.ts";
import { CODE_RULES } from "./code-rules.ts";
import { type CommandContext, NO_CONTEXT } from "./command-context.ts";
import type { Variables } from "./cursor.ts";
import { DATABASE_RULES } from "./database-rules.ts";
import { isRunningVariable } from "./environment-rules.ts";
import { findRunOutputs, findScripts, findScriptWords, isRunningFeed, isShell } from "./executed-scripts.ts";
import { inputOf, NOTHING, outputOf, outputOfMember } from "./feed.ts";
import { FILE_RULES } from "./file-rules.ts";
import { GIT_RULES } from "./git-rules.ts";
import { isGlob } from "./glob.ts";
import { isInterpreter } from "./interpreters.ts";
import { MACHINE_RULES } from "./machine-rules.ts";
import { MARK, removeMarks } from "./marks.ts";
import { NETWORK_RULES } from "./network-rules.ts";
import { OPTION_RULES } from "./option-rules.ts";
import { OWN_RULES } from "./own-commands.ts";
import { type Cwds, type PathJudge, pathJudge } from "./path-judge.ts";
import { mayBeSecret, type Written, writtenAt } from "./places.ts";
import { reachesHome } from "./reached-paths.ts";
import type { Feed, Rule } from "./rule.ts";
import { type Group, isGroup, type Pipeline, type Script, type Step, type Word } from "./script.ts";
import { SECRET_RULES } from "./secret-rules.ts";
import { readShell } from "./shell.ts";
import { STARTERS, startOfStarted } from "./starters.ts";
import { findWrittenFiles } from "./written-files.ts";

/** Why a person is asked before a command runs. */
export interface Danger {
  /** Short and stable; `a+b` where it does both. What is allowed is allowed for exactly these. */
  readonly kind: string;
  /** Goes on after "it": "deletes files and folders with everything in them". */
  readonly why: string;
}

/**
 * What a shell command may destroy, give away or take over, as far as its text tells. It is a guard against accidents and
 * haste, not a sandbox: a script in a file is not read. The command is never run; the time grows with its length.
 */
export function findDanger(command: string, context: CommandContext = NO_CONTEXT): Danger | undefined {
  if (command.length > LONGEST_READ) return TOO_LONG;
  const found = new Map<string, string>();
  const judge = pathJudge(context);
  const cwds: Cwds = { folders: [context.cwd], isUnsure: context.isCwdUnsure === true };
  const variables: Variables = { known: new Map(), unsure: new Set() };
  const aliases = new Map<string, string>();
  if (command.trim() !== "" && judge.reachesInside({ text: context.cwd, inside: [] }, cwds)) ownFolder(found);
  look(removeMarks(command), {
    found,
    depth: 0,
    variables,
    aliases,
    judge,
    place: { cwds },
    isCaptured: false,
    budget: { left: 6 * command.length + 32_768 },
  });
  if (found.size === 0) return undefined;
  return { kind: [...found.keys()].sort().join("+"), why: [...found.values()].join(", and ") };
}

/** Nobody reads a longer one before they allow it, and analysing it would take the time of others. */
const LONGEST_READ = 20_000;
const TOO_LONG: Danger = { kind: "too-long", why: "is too long to be checked" };

const RULES: readonly Rule[] = [
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

const WRITTEN: Readonly<Record<Written, string>> = {
  disk: "writes to a disk itself, or takes one away",
  "postrider-data": "removes or changes Postrider's own data",
  "ssh-access": "changes who may log in here, or with which keys",
  startup: "changes what runs by itself when a shell, a session or the machine starts",
  "system-file": "changes files that belong to the system",
  overwrite: "replaces settings in the home folder, or secrets",
};

/** Scripts in scripts: nobody writes more of them by hand. */
const DEEPEST = 8;
/** What a script costs besides its length. */
const SCRIPT_COST = 256;

interface Looking {
  readonly found: Map<string, string>;
  readonly depth: number;
  readonly variables: Variables;
  readonly aliases: Map<string, string>;
  readonly judge: PathJudge;
  /** Where the command is by now; `cd` changes it. */
  readonly place: { cwds: Cwds };
  /** Its output becomes words of a command. */
  readonly isCaptured: boolean;
  /** How much more of scripts in scripts is read, so that the time stays in proportion to the length. */
  readonly budget: { left: number };
  /** Functions that the script defines, and those whose body this is. */
  readonly functions?: ReadonlySet<string>;
  readonly within?: readonly string[];
}

function look(text: string, looking: Looking): void {
  const { found, depth, variables } = looking;
  looking.budget.left -= depth === 0 ? 0 : text.length + SCRIPT_COST;
  const isTooDeep = depth > DEEPEST || looking.budget.left < 0;
  const read = isTooDeep ? undefined : readShell(text, variables);
  if (read === undefined || read.isTooMuch) unreadable(found);
  if (read !== undefined) lookThrough(read.script, { ...looking, functions: read.functions });
}

function lookThrough(script: Script, looking: Looking): void {
  for (const line of script) {
    let feed = NOTHING;
    for (const [at, member] of line.members.entries()) {
      if (isGroup(member)) lookInto(member, looking, feed);
      else lookAt(member, feed, line, at, looking);
      feed = outputOfMember(member, feed);
    }
  }
}

function lookInto({ body, named, words = [] }: Group, looking: Looking, feed: Feed): void {
  const { within = [], place } = looking;
  for (const { inside } of words)
    for (const script of inside) lookThrough(script, { ...looking, isCaptured: true });
  const before = place.cwds;
  const inner = named === undefined ? looking : { ...looking, within: [...within.slice(-DEEPEST), named] };
  lookThrough(body, inner);
  // What it reads is read by the programs in it.
  if (feed.isPiped)
    for (const line of body)
      if (line.members[0] !== undefined && !isGroup(line.members[0]))
        lookAtFeed(line.members[0], feed, inner);
  // A subshell keeps its folder for itself, a block does not.
  const folders = [...new Set([...before.folders, ...place.cwds.folders])];
  place.cwds = { folders, isUnsure: before.isUnsure || place.cwds.isUnsure };
}

function lookAt(step: Step, piped: Feed, line: Pipeline, at: number, looking: Looking): void {
  const { found, judge, place } = looking;
  const { words, assigned, redirects } = step;
  for (const { inside } of [...assigned, ...words, ...redirects.map(({ word }) => word)])
    for (const script of inside) lookThrough(script, { ...looking, isCaptured: true });
  const feed = inputOf(step, piped);
  const calls = callsIn(words);
  if (isEndless(calls)) unreadable(found);
  if (isForking(calls, line, looking))
    found.set("fork-bomb", "starts copies of itself until nothing else can run");
  const [program] = words;
  if (program !== undefined) lookAtProgram(program, found);
  for (const { name, text } of assigned) if (isRunningVariable(name, text)) runningVariable(found);
  for (const call of calls) lookAtCall(call, feed, looking);
  lookAtFiles(step, calls, looking);
  if (reachesHome({ step, calls, line, at, judge, cwds: place.cwds, isCaptured: looking.isCaptured }))
    ownFolder(found);
  const sinks = [...words, ...redirects.map(({ word }) => word)].flatMap((word) => word.sinks ?? []);
  if (sinks.length > 0) {
    const output = outputOfMember(step, piped);
    for (const { members } of sinks.flat())
      if (members[0] !== undefined && !isGroup(members[0])) lookAtFeed(members[0], output, looking);
  }
  for (const call of calls) changeFolder(call, looking);
}

function lookAtCall(call: Call, feed: Feed, looking: Looking): void {
  const { found, aliases, place } = looking;
  const { folders } = place.cwds;
  for (const { kind, why, is } of RULES) if (is(call, feed, folders)) found.set(kind, why);
  for (const text of call.given) {
    const [, name = "", value = ""] = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(text) ?? [];
    if (name !== "" && isRunningVariable(name, value) && SETTERS.test(call.program)) runningVariable(found);
  }
  if (isRunningFeed(call)) unseen(feed, found);
  if (isHidden(call, feed)) hidden(found);
  for (const output of findRunOutputs(call)) {
    const printed = outputOf(output);
    unseen(printed, found);
    if (printed.text !== undefined) look(printed.text, { ...looking, depth: looking.depth + 1 });
  }
  for (const text of [...findScripts(call, feed), ...filledIn(call, feed), ...aliasOf(call, aliases)])
    if (text.trim() !== "") look(text, { ...looking, depth: looking.depth + 1 });
  if (call.program === "alias")
    for (const text of call.given) {
      const [name = "", value] = text.split(/=(.*)/s);
      if (value !== undefined && aliases.size < 64) aliases.set(name, value);
      if (isTakenOver(name, value ?? "")) hidden(found);
    }
}

const SETTERS = /^(?:env|export|declare|typeset|local|readonly|sudo|doas|systemd-run|setenv|set)$/;

/** A well-known name that stands for something else than itself. */
function isTakenOver(name: string, value: string): boolean {
  const [first = ""] = value.trim().split(/\s/, 1);
  return (
    /^(?:ls|ll|cd|cat|echo|git|grep|npm|node|make|test|pwd|true)$/.test(name) &&
    /^(?:.*\/)?(?:rm|dd|sudo|sh|bash|eval|curl|mv|shred)$/.test(first)
  );
}

/** What an alias makes of the call. */
function aliasOf({ program, given }: Call, aliases: ReadonlyMap<string, string>): readonly string[] {
  const value = aliases.get(program);
  return value === undefined || value.startsWith(program) ? [] : [`${value} ${given.map(quote).join(" ")}`];
}

/** The command that xargs makes of words that are known. */
function filledIn({ program, given }: Call, { text }: Feed): readonly string[] {
  if ((program !== "xargs" && program !== "gxargs") || text === undefined) return [];
  const sign = replacementIn(given);
  const started = given.slice(startOfStarted(given, program));
  const words = text.replace(/\n/g, " ");
  if (sign === undefined) return [`${started.map(quote).join(" ")} ${words}`];
  return [
    started.map((arg) => (arg.includes(sign) ? arg.replaceAll(sign, () => words) : quote(arg))).join(" "),
  ];
}

function replacementIn(given: readonly string[]): string | undefined {
  const at = given.findIndex((arg) => /^-[IiJ]|^--replace/.test(arg));
  if (at < 0) return undefined;
  const attached = (given[at] ?? "").replace(/^-[IiJ]|^--replace=?/, "");
  return attached !== "" ? attached : given[at]?.startsWith("-I") ? (given[at + 1] ?? "{}") : "{}";
}

function quote(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Whether what it runs is put together while it runs. */
function isHidden(call: Call, feed: Feed): boolean {
  const { program, given, args, isForMany } = call;
  if (
    findScriptWords(call).some(
      ({ marked = "" }) => marked.includes(MARK.made) || marked.includes(MARK.madeSplit),
    )
  )
    return true;
  if (isForMany && (findScriptWords(call).some(({ text }) => text === "{}") || call.path === "{}"))
    return true;
  // A script file that is the output of a program: `make -f <(…)`.
  if (/^(?:[gmn]?awk|g?make|g?sed)$/.test(program))
    if (
      args.some(({ inside }, at) => inside.length > 0 && /^-[a-zA-Z]*f$|^--file$/.test(given[at - 1] ?? ""))
    )
      return true;
  if (program === "xargs" || program === "gxargs" || program === "parallel") {
    const sign = replacementIn(given) ?? "{}";
    const started = args[startOfStarted(given, program)];
    return started !== undefined && (started.text.includes(sign) || isUnknownProgram(started));
  }
  if (Object.hasOwn(STARTERS, program)) {
    const started = args[startOfStarted(given, program)];
    if (started === undefined) return isForMany && program !== "command" && feed.text === undefined;
    return isUnknownProgram(started) || (isForMany && started.text === "{}");
  }
  const isOpen =
    isForMany && (isShell(call) || isInterpreter(program)) && given.every((arg) => arg.startsWith("-"));
  return isOpen && feed.text === undefined;
}

function isUnknownProgram({ unknown, hasUnknownName, text }: Word): boolean {
  return (unknown !== undefined && hasUnknownName === true) || (isGlob(text) && !text.startsWith("["));
}

function lookAtProgram(word: Word, found: Map<string, string>): void {
  for (const output of word.inside) {
    const { isFetched } = outputOf(output);
    unseen({ isFetched, isMade: false }, found);
  }
  // `/bin/r?` is whatever the folder has; `$x` is whatever it was made.
  if (word.hasUnknownName === true || /[*?]|\[.+\]/.test(word.text.slice(0, 256))) hidden(found);
}

function lookAtFeed(step: Step, feed: Feed, looking: Looking): void {
  if (inputOf(step, feed) !== feed) return;
  for (const call of callsIn(step.words)) {
    if (isRunningFeed(call)) unseen(feed, looking.found);
    for (const text of findScripts(call, feed))
      if (text !== "") look(text, { ...looking, depth: looking.depth + 1 });
  }
}

/** Also those of a step that is nothing but redirections: of a group, a loop, `$(<file)`. */
function lookAtFiles({ words, redirects }: Step, calls: readonly Call[], looking: Looking): void {
  const { found, place } = looking;
  const { folders } = place.cwds;
  if (redirects.some(({ way, word }) => way === "read" && mayBeSecret(word.text, folders)))
    found.set("secret", "reads keys, passwords or tokens");
  const isTest = words[0]?.text === "[[";
  const written = redirects.flatMap(({ way, word }) =>
    (way === "write" || way === "append") && !isTest
      ? [{ path: word.text, isReplaced: way === "write" }]
      : [],
  );
  for (const { path, isReplaced } of [...written, ...calls.flatMap(findWrittenFiles)]) {
    const what = writtenAt(path, isReplaced) ?? writtenFrom(path, isReplaced, folders);
    if (what !== undefined) found.set(what, WRITTEN[what]);
  }
  const opened = [
    ...redirects.map(({ word }) => word.text),
    ...calls.flatMap(findWrittenFiles).map(({ path }) => path),
  ];
  if (opened.some((path) => /^\/dev\/(?:tcp|udp)\//.test(path)))
    found.set("remote-shell", "opens a shell or a raw connection to another machine");
}

/** A relative path, from where the command is: `cd /etc && echo x > hosts`. */
function writtenFrom(path: string, isReplaced: boolean, folders: readonly string[]): Written | undefined {
  if (/^[/~$]/.test(path) || path.length > 1024) return undefined;
  for (const folder of folders) {
    const what =
      folder === "/" && !path.includes("/") ? undefined : writtenAt(`${folder}/${path}`, isReplaced);
    // Postrider's own folder is judged with the workspaces known.
    if (what !== undefined && what !== "postrider-data") return what;
  }
  return undefined;
}

function changeFolder({ program, operands, args }: Call, { judge, place }: Looking): void {
  if (program !== "cd" && program !== "pushd" && program !== "popd" && program !== "chdir") return;
  const target = args.find(({ text }) => !/^-[LPe@n]+$/.test(text) && text !== "--");
  const isBack = program === "popd" || operands[0] === "-" || (program === "pushd" && target === undefined);
  place.cwds = isBack
    ? { ...place.cwds, isUnsure: true }
    : judge.follow(target ?? { text: "~", inside: [] }, place.cwds);
}

/** What is run though it cannot be seen here. */
function unseen({ isFetched, isMade }: Pick<Feed, "isFetched" | "isMade">, found: Map<string, string>): void {
  if (isFetched) found.set("remote-script", "runs what another machine sends, unseen");
  if (isMade) hidden(found);
}

function hidden(found: Map<string, string>): void {
  found.set("hidden-command", "runs something that is written so that it cannot be read");
}

function ownFolder(found: Map<string, string>): void {
  found.set("postrider-home", "reaches into Postrider's own folder");
}

function unreadable(found: Map<string, string>): void {
  found.set("unreadable", "is too intricate to be looked through");
}

function runningVariable(found: Map<string, string>): void {
  found.set("runs-program", "makes a program run another one by an option or a setting");
}

/** A function that starts itself more than once, or a script that does. */
function isForking(
  calls: readonly Call[],
  { members, isInBackground }: Pipeline,
  { within = [], functions = new Set() }: Looking,
): boolean {
  const isSplit = isInBackground || members.length > 1;
  const program = calls.at(-1)?.program;
  if (!isSplit || program === undefined) return false;
  if (program === "$0" || within.includes(program)) return true;
  return within.length > 0 && isInBackground && members.length > 1 && functions.has(program);
}
