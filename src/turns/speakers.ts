import { isShared, type ScopeSettings, scopeFor } from "../core/identity.ts";
import { type Message, textPart } from "../core/message.ts";
import { type Privacy, redactSource } from "../core/redaction.ts";
import type { Source } from "../core/source.ts";

/** Finds the name of a message's sender as the model may know it. */
export type FindSpeaker = (message: Message) => string | undefined;

/** Where several people share the conversation, the model is told who said what; elsewhere nobody is named. */
export function createSpeakerFinder(
  target: Source,
  { scope, privacy }: { readonly scope: ScopeSettings; readonly privacy: Privacy },
): FindSpeaker | undefined {
  if (!isShared(target, scopeFor(scope, target.platform))) return undefined;
  return (message) => getSpeakerName(message, target, privacy);
}

/** Puts the speaker's name before the words of a person. What is stored stays as it was said. */
export function addSpeakerNames(
  messages: readonly Message[],
  findSpeaker: FindSpeaker | undefined,
): readonly Message[] {
  if (findSpeaker === undefined) return messages;
  return messages.map((message) => {
    const name = message.role === "user" ? findSpeaker(message) : undefined;
    if (name === undefined) return message;
    const [first, ...more] = message.parts;
    const parts =
      first?.type === "text"
        ? [textPart(`[${name}] ${first.text}`), ...more]
        : [textPart(`[${name}]`), ...message.parts];
    return { ...message, parts };
  });
}

/** By name, else by id, both masked where that is configured. */
function getSpeakerName({ origin }: Message, target: Source, privacy: Privacy): string | undefined {
  const { userId: _, userName: __, ...place } = target;
  const speaker = {
    ...place,
    ...(origin?.userId !== undefined && { userId: origin.userId }),
    ...(origin?.userName !== undefined && { userName: origin.userName }),
  };
  const known = redactSource(speaker, privacy);
  return (known.userName ?? known.userId)?.replaceAll(/[[\]\n]/g, " ");
}
