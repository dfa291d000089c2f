import { callsIn } from "./call.ts";
import { type CommandContext, NO_CONTEXT } from "./command-context.ts";
import { type Danger, findDanger } from "./find-danger.ts";
import { isHarmlessCall } from "./harmless-programs.ts";
import { type Cwds, type PathJudge, pathJudge } from "./path-judge.ts";
import { isGroup, type Script, type Step, type Word } from "./script.ts";
import { readShell } from "./shell.ts";

/**
 * What is known of a command before it runs. `harmless` is on a list of what only reads and prints, within the folders
 * that are meant for the agent; `dangerous` says why; everything else is `unknown`.
 */
export type CommandClass =
  | { readonly class: "harmless" }
  | { readonly class: "unknown" }
  | ({ readonly class: "dangerous" } & Danger);

export function classifyCommand(command: string, context: CommandContext = NO_CONTEXT): CommandClass {
  const danger = findDanger(command, context);
  if (danger !== undefined) return { class: "dangerous", ...danger };
  const { script, functions, isTooMuch, isUnfinished } = readShell(command);
  const isRead = !isTooMuch && !isUnfinished && functions.size === 0 && command.trim() !== "";
  const cwds: Cwds = { folders: [context.cwd], isUnsure: context.isCwdUnsure === true };
  const place = { cwds };
  return {
    class: isRead && !cwds.isUnsure && isHarmless(script, pathJudge(context), place) ? "harmless" : "unknown",
  };
}

function isHarmless(script: Script, judge: PathJudge, place: { cwds: Cwds }): boolean {
  return script.every(
    ({ members, isInBackground }) =>
      !isInBackground && members.every((member) => !isGroup(member) && isHarmlessStep(member, judge, place)),
  );
}

function isHarmlessStep(
  { words, assigned, redirects }: Step,
  judge: PathJudge,
  place: { cwds: Cwds },
): boolean {
  const isPlain = (word: Word): boolean =>
    word.unknown === undefined && word.inside.length === 0 && word.sinks === undefined;
  if (assigned.length > 0 || words.length === 0 || !words.every(isPlain)) return false;
  const areRedirectsFine = redirects.every(({ way, word }) => {
    if (!isPlain(word)) return false;
    if (way === "text" || word.text === "/dev/null") return true;
    return way === "read" && judge.staysInside(word, place.cwds);
  });
  const [call] = callsIn(words);
  if (!areRedirectsFine || call === undefined || !isHarmlessCall(call)) return false;
  if (!call.args.every((word) => word.text === "/dev/null" || judge.staysInside(word, place.cwds)))
    return false;
  if (call.program === "cd") place.cwds = judge.follow(call.args[0] ?? { text: "~", inside: [] }, place.cwds);
  return !place.cwds.isUnsure;
}
