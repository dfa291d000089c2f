import { callsIn } from "./call.ts";
import { isGenerator } from "./known-output.ts";
import { isFetcher } from "./network-rules.ts";
import { findPrintedByStep } from "./printed-text.ts";
import type { Feed } from "./rule.ts";
import { type Group, isGroup, type Pipeline, type Script, type Step } from "./script.ts";

export const NOTHING: Feed = { isPiped: false, isFetched: false, isMade: false, files: [] };

/** What a step reads: what is piped into it, unless it is given something else. */
export function inputOf({ redirects }: Step, piped: Feed): Feed {
  const texts = redirects.filter(({ way }) => way === "text").map(({ word }) => word);
  const files = redirects.filter(({ way }) => way === "read").map(({ word }) => word);
  if (texts.length === 0 && files.length === 0) return piped;
  const outputs = [...texts, ...files].flatMap(({ inside }) => inside.map(outputOf));
  // `< <(…)` is read like a pipe; a text whose words are known is known.
  const through = files.flatMap(({ inside }) => inside.map(outputOf)).flatMap(({ text }) => text ?? []);
  const known = [...texts.map(({ text, marked }) => marked ?? text), ...through];
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

/** What a member of a pipeline hands on to the next one. */
export function outputOfMember(member: Step | Group, piped: Feed): Feed {
  if (isGroup(member))
    return {
      ...join(
        member.body.map((line) => outputOfLine(line, piped)),
        piped,
      ),
      isPiped: true,
    };
  const printed = findPrintedByStep(member);
  const input = inputOf(member, piped);
  const calls = callsIn(member.words);
  const last = calls.at(-1);
  const isHandedOn = last?.program === "cat" || last?.program === "tee";
  const isFile = last?.program === "cat" && last.operands.some((path) => path !== "-");
  const inside = member.words.flatMap((word) => word.inside.map(outputOf));
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

export function outputOf(script: Script): Feed {
  if (isGenerator(script)) return NOTHING;
  return join(
    script.map((line) => outputOfLine(line, NOTHING)),
    NOTHING,
  );
}

function outputOfLine({ members }: Pipeline, piped: Feed): Feed {
  return members.reduce((feed, member) => outputOfMember(member, feed), piped);
}

function join(feeds: readonly Feed[], piped: Feed): Feed {
  const texts = feeds.flatMap(({ text }) => text ?? []);
  return {
    isPiped: piped.isPiped,
    isFetched: feeds.some(({ isFetched }) => isFetched),
    isMade: feeds.some(({ isMade }) => isMade),
    files: [],
    ...(texts.length > 0 && { text: texts.join("\n") }),
  };
}
