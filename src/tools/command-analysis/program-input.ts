import type { ProgramInput } from "./danger-rule.ts";
import { isGenerator } from "./known-output.ts";
import { isFetcher } from "./network-rules.ts";
import { findPrintedByCommand } from "./printed-text.ts";
import { findCalls } from "./program-call.ts";
import {
  type CompoundCommand,
  isCompoundCommand,
  type Pipeline,
  type ShellScript,
  type SimpleCommand,
} from "./shell-script.ts";

export const NO_INPUT: ProgramInput = { isPiped: false, isFetched: false, isMade: false, files: [] };

/** The input of a step: the pipe, unless a redirection replaces it. */
export function traceInput({ redirects }: SimpleCommand, piped: ProgramInput): ProgramInput {
  const texts = redirects.filter(({ mode }) => mode === "text").map(({ word }) => word);
  const files = redirects.filter(({ mode }) => mode === "read").map(({ word }) => word);
  if (texts.length === 0 && files.length === 0) return piped;
  const outputs = [...texts, ...files].flatMap(({ substitutions }) => substitutions.map(traceScriptOutput));
  // `< <(…)` counts as a pipe; a here-document with known words is known.
  const through = files
    .flatMap(({ substitutions }) => substitutions.map(traceScriptOutput))
    .flatMap(({ text }) => text ?? []);
  const known = [...texts.map(({ text, markedText }) => markedText ?? text), ...through];
  const isTextKnown = texts.length > 0 && texts.every(({ unknown }) => unknown !== "made");
  return {
    isPiped: true,
    isFetched: outputs.some(({ isFetched }) => isFetched),
    isMade:
      texts.some(({ unknown }) => unknown === "made") ||
      (!isTextKnown && outputs.some(({ isMade }) => isMade)),
    files: files.map(({ text }) => text),
    ...(known.length > 0 && { text: known.join("\n") }),
  };
}

/** The output of a pipeline member for the next one. */
export function traceMemberOutput(
  member: SimpleCommand | CompoundCommand,
  piped: ProgramInput,
): ProgramInput {
  if (isCompoundCommand(member))
    return {
      ...joinInputs(
        member.body.map((line) => tracePipelineOutput(line, piped)),
        piped,
      ),
      isPiped: true,
    };
  const printed = findPrintedByCommand(member);
  const input = traceInput(member, piped);
  const calls = findCalls(member.words);
  const last = calls.at(-1);
  const isHandedOn = last?.program === "cat" || last?.program === "tee";
  const isFile = last?.program === "cat" && last.operands.some((path) => path !== "-");
  const inside = member.words.flatMap((word) => word.substitutions.map(traceScriptOutput));
  const isPrinted = printed !== undefined;
  const text = printed ?? (isHandedOn && !isFile ? input.text : undefined);
  const hasUnknown = isPrinted && member.words.some(({ unknown }) => unknown === "made");
  const isFetched = calls.some(isFetcher) || (!isPrinted && input.isFetched);
  const isKnown = isPrinted || isHandedOn || isGenerator([{ members: [member], isInBackground: false }]);
  return {
    isPiped: true,
    isFetched: isFetched || inside.some((feed) => feed.isFetched),
    isMade:
      hasUnknown ||
      (!isKnown && !calls.some(isFetcher)) ||
      (!isPrinted && input.isMade) ||
      (!isPrinted && inside.some((feed) => feed.isMade)),
    files: [],
    ...(text !== undefined && { text }),
  };
}

export function traceScriptOutput(script: ShellScript): ProgramInput {
  if (isGenerator(script)) return NO_INPUT;
  return joinInputs(
    script.map((line) => tracePipelineOutput(line, NO_INPUT)),
    NO_INPUT,
  );
}

function tracePipelineOutput({ members }: Pipeline, piped: ProgramInput): ProgramInput {
  return members.reduce((feed, member) => traceMemberOutput(member, feed), piped);
}

function joinInputs(feeds: readonly ProgramInput[], piped: ProgramInput): ProgramInput {
  const texts = feeds.flatMap(({ text }) => text ?? []);
  return {
    isPiped: piped.isPiped,
    isFetched: feeds.some(({ isFetched }) => isFetched),
    isMade: feeds.some(({ isMade }) => isMade),
    files: [],
    ...(texts.length > 0 && { text: texts.join("\n") }),
  };
}
