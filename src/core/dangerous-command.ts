import { type Call, callsIn, isEndless } from "./dangers/call.ts";
import { CODE_RULES } from "./dangers/code-rules.ts";
import { DATABASE_RULES } from "./dangers/database-rules.ts";
import { FILE_RULES } from "./dangers/file-rules.ts";
import { MACHINE_RULES } from "./dangers/machine-rules.ts";
import { isFetcher, NETWORK_RULES } from "./dangers/network-rules.ts";
import { isSecretPlace, type Written, writtenAt } from "./dangers/places.ts";
import type { Feed, Rule } from "./dangers/rule.ts";
import { isChanging, isRunningFeed, runOutputs, scriptsIn } from "./dangers/run-scripts.ts";
import { saidByStep } from "./dangers/said.ts";
import { type Group, isGroup, type Pipeline, type Script, type Step, type Word } from "./dangers/script.ts";
import { SECRET_RULES } from "./dangers/secret-rules.ts";
import { readShell } from "./dangers/shell.ts";
import { writtenBy } from "./dangers/written-by.ts";

/** Why a person is asked before a command runs. */
export interface Danger {
  /** Short and stable; `a+b` where it does both. What is allowed for good is allowed for exactly these. */
  readonly kind: string;
  /** Goes on after "it": "deletes files and folders with everything in them". */
  readonly why: string;
}

/**
 * What a shell command may destroy, give away or take over, as far as a list can tell. It is a guard against accidents and
 * haste, not a sandbox: a script in a file, a program that nobody has heard of, or somebody who wants to get past it is not
 * found. The command is read as a shell would read it, never run; the time that takes grows with its length.
 */
export function dangerIn(command: string): Danger | undefined {
  const found = new Map<string, string>();
  look(command, { found, depth: 0, known: new Map() });
  if (found.size === 0) return undefined;
  return { kind: [...found.keys()].sort().join("+"), why: [...found.values()].join(", and ") };
}

const RULES: readonly Rule[] = [
  ...FILE_RULES,
  ...MACHINE_RULES,
  ...NETWORK_RULES,
  ...SECRET_RULES,
  ...CODE_RULES,
  ...DATABASE_RULES,
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

interface Looking {
  readonly found: Map<string, string>;
  readonly depth: number;
  readonly known: Map<string, string>;
  /** Functions that the script defines, and those whose body this is. */
  readonly functions?: ReadonlySet<string>;
  readonly within?: readonly string[];
}

function look(text: string, looking: Looking): void {
  const { found, depth, known } = looking;
  const read = depth > DEEPEST ? undefined : readShell(text, known);
  if (read === undefined || read.isTooMuch) unreadable(found);
  if (read !== undefined) lookThrough(read.script, { ...looking, functions: read.functions });
}

function lookThrough(script: Script, looking: Looking): void {
  for (const line of script) {
    let feed = NOTHING;
    for (const member of line.members) {
      if (isGroup(member)) lookInto(member, looking);
      else lookAt(member, feed, line, looking);
      feed = fedBy(member, feed);
    }
  }
}

function lookInto({ body, named }: Group, looking: Looking): void {
  const { within = [] } = looking;
  lookThrough(
    body,
    named === undefined ? looking : { ...looking, within: [...within.slice(-DEEPEST), named] },
  );
}

function lookAt(step: Step, piped: Feed, line: Pipeline, looking: Looking): void {
  const { found } = looking;
  const { words, assigned, redirects } = step;
  for (const { inside } of [...assigned, ...words, ...redirects.map(({ word }) => word)])
    for (const script of inside) lookThrough(script, looking);
  const feed = fed(step, piped);
  const calls = callsIn(words);
  if (isEndless(calls)) unreadable(found);
  if (isForking(calls, line, looking))
    found.set("fork-bomb", "starts copies of itself until nothing else can run");
  const [program] = words;
  if (program !== undefined) lookAtProgram(program, found);
  for (const call of calls) {
    for (const { kind, why, is } of RULES) if (is(call, feed)) found.set(kind, why);
    if (isRunningFeed(call)) unseen(feed, found);
    for (const output of runOutputs(call)) unseen(outputOf(output), found);
    for (const text of scriptsIn(call, feed))
      if (text !== "") look(text, { ...looking, depth: looking.depth + 1 });
  }
  lookAtFiles(step, calls, found);
}

function lookAtProgram({ text, inside }: Word, found: Map<string, string>): void {
  for (const output of inside) unseen(outputOf(output), found);
  // `/bin/r?` is whatever the folder has.
  if (/[*?]|\[.+\]/.test(text.slice(0, 256))) hidden(found);
}

/** Also those of a step that is nothing but redirections: of a group, a loop, `$(<file)`. */
function lookAtFiles({ words, redirects }: Step, calls: readonly Call[], found: Map<string, string>): void {
  if (redirects.some(({ way, word }) => way === "read" && isSecretPlace(word.text)))
    found.set("secret", "reads keys, passwords or tokens");
  const isTest = words[0]?.text === "[[";
  const written = redirects.flatMap(({ way, word }) =>
    (way === "write" || way === "append") && !isTest
      ? [{ path: word.text, isReplaced: way === "write" }]
      : [],
  );
  for (const { path, isReplaced } of [...written, ...calls.flatMap(writtenBy)]) {
    const what = writtenAt(path, isReplaced);
    if (what !== undefined) found.set(what, WRITTEN[what]);
    if (/^\/dev\/(?:tcp|udp)\//.test(path))
      found.set("remote-shell", "opens a shell or a raw connection to another machine");
  }
}

/** What is run though it cannot be seen here. */
function unseen(
  { isFetched, isChanged }: Pick<Feed, "isFetched" | "isChanged">,
  found: Map<string, string>,
): void {
  if (isFetched) found.set("remote-script", "runs what another machine sends, unseen");
  if (isChanged) hidden(found);
}

function hidden(found: Map<string, string>): void {
  found.set("hidden-command", "runs something that is written so that it cannot be read");
}

function unreadable(found: Map<string, string>): void {
  found.set("unreadable", "is too intricate to be looked through");
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

const NOTHING: Feed = { isPiped: false, isFetched: false, isChanged: false, files: [] };

/** What a step reads: what is piped into it, unless it is given something else. */
function fed({ redirects }: Step, piped: Feed): Feed {
  const texts = redirects.filter(({ way }) => way === "text").map(({ word }) => word);
  const files = redirects.filter(({ way }) => way === "read").map(({ word }) => word);
  if (texts.length === 0 && files.length === 0) return piped;
  const outputs = [...texts, ...files].flatMap(({ inside }) => inside.map(outputOf));
  return {
    isPiped: true,
    isFetched: outputs.some(({ isFetched }) => isFetched),
    isChanged: outputs.some(({ isChanged }) => isChanged),
    files: files.map(({ text }) => text),
    ...(texts.length > 0 && { text: texts.map(({ text }) => text).join("\n") }),
  };
}

/** What a member hands on to the next one. */
function fedBy(member: Step | Group, piped: Feed): Feed {
  if (isGroup(member)) return { ...joined(member.body.map(outputOfLine), piped), isPiped: true };
  const said = saidByStep(member);
  const feed = fed(member, piped);
  const calls = callsIn(member.words);
  const last = calls.at(-1)?.program ?? "";
  const isHandedOn = last === "cat" || last === "tee";
  const inside = member.words.flatMap((word) => word.inside.map(outputOf));
  const isSaid = said !== undefined;
  const text = said ?? (isHandedOn ? feed.text : undefined);
  return {
    isPiped: true,
    isFetched:
      calls.some(isFetcher) || (!isSaid && feed.isFetched) || inside.some(({ isFetched }) => isFetched),
    isChanged:
      calls.some(isChanging) || (!isSaid && feed.isChanged) || inside.some(({ isChanged }) => isChanged),
    files: [],
    ...(text !== undefined && { text }),
  };
}

function outputOf(script: Script): Feed {
  return joined(script.map(outputOfLine), NOTHING);
}

function outputOfLine({ members }: Pipeline): Feed {
  return members.reduce((feed, member) => fedBy(member, feed), NOTHING);
}

function joined(feeds: readonly Feed[], piped: Feed): Feed {
  const texts = feeds.flatMap(({ text }) => text ?? []);
  return {
    isPiped: piped.isPiped,
    isFetched: piped.isFetched || feeds.some(({ isFetched }) => isFetched),
    isChanged: piped.isChanged || feeds.some(({ isChanged }) => isChanged),
    files: [],
    ...(texts.length > 0 && { text: texts.join("\n") }),
  };
}
