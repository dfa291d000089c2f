import { type CommandContext, NO_CONTEXT } from "./command-context.ts";
import { type Danger, findDanger } from "./find-danger.ts";
import { isHarmlessCall } from "./harmless-programs.ts";
import { type Cwds, createPathJudge, joinCwds, type PathJudge } from "./path-judge.ts";
import { findCalls } from "./program-call.ts";
import { readShell } from "./read-shell.ts";
import {
  isCompoundCommand,
  isInSubshell,
  type ShellScript,
  type ShellWord,
  type SimpleCommand,
} from "./shell-script.ts";

/** Classifies a command before it runs. `harmless` commands only read and print in the agent's folders. */
export type CommandClass =
  | { readonly class: "harmless" }
  | { readonly class: "unknown" }
  | ({ readonly class: "dangerous" } & Danger);

export function classifyCommand(command: string, context: CommandContext = NO_CONTEXT): CommandClass {
  const danger = findDanger(command, context);
  if (danger !== undefined) return { class: "dangerous", ...danger };
  const { script, functions, isTooComplex, isUnfinished } = readShell(command);
  const isRead = !isTooComplex && !isUnfinished && functions.size === 0 && command.trim() !== "";
  const cwds: Cwds = { folders: [context.cwd], isUnsure: context.isCwdUnsure === true };
  const place = { cwds };
  return {
    class:
      isRead && !cwds.isUnsure && isHarmless(script, createPathJudge(context), place)
        ? "harmless"
        : "unknown",
  };
}

function isHarmless(script: ShellScript, judge: PathJudge, place: { cwds: Cwds }): boolean {
  return script.every((line) => {
    const before = place.cwds;
    return (
      !line.isInBackground &&
      line.members.every((member) => {
        if (isCompoundCommand(member) || !isHarmlessStep(member, judge, place)) return false;
        if (isInSubshell(line)) place.cwds = joinCwds(before, place.cwds);
        return true;
      })
    );
  });
}

function isHarmlessStep(
  { words, assignments, redirects }: SimpleCommand,
  judge: PathJudge,
  place: { cwds: Cwds },
): boolean {
  const isPlain = (word: ShellWord): boolean =>
    word.unknown === undefined && word.substitutions.length === 0 && word.sinks === undefined;
  if (assignments.length > 0 || words.length === 0 || !words.every(isPlain)) return false;
  const areRedirectsFine = redirects.every(({ mode, word }) => {
    if (!isPlain(word)) return false;
    if (mode === "text" || word.text === "/dev/null") return true;
    return mode === "read" && judge.isInsideWorkspace(word, place.cwds);
  });
  const [call] = findCalls(words);
  if (!areRedirectsFine || call === undefined || !isHarmlessCall(call)) return false;
  if (!call.args.every((word) => word.text === "/dev/null" || judge.isInsideWorkspace(word, place.cwds)))
    return false;
  if (call.program === "cd")
    place.cwds = judge.changeDirectory(call.args[0] ?? { text: "~", substitutions: [] }, place.cwds);
  return !place.cwds.isUnsure;
}
