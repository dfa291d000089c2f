import { isShared, type ScopeSettings, scopeFor } from "../core/identity.ts";
import { type Message, textPart } from "../core/message.ts";
import { type Privacy, redactSource } from "../core/redaction.ts";
import type { Source } from "../core/source.ts";

/** Finds the name of a message's sender for the model. */
export type FindSpeaker = (message: Message) => string | undefined;

/** Names senders where several people share the conversation; `undefined` elsewhere. */
export function createSpeakerFinder(
  target: Source,
  { scope, privacy }: { readonly scope: ScopeSettings; readonly privacy: Privacy },
): FindSpeaker | undefined {
  if (!isShared(target, scopeFor(scope, target.platform))) return undefined;
  return (message) => getSpeakerName(message, target, privacy);
}

/** Puts the sender's name before the text of a person, for the model only: the stored messages stay unchanged. */
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

/** The name, or else the id, redacted by the privacy settings. */
function getSpeakerName({ origin }: Message, target: Source, privacy: Privacy): string | undefined {
  const { userId: _, userName: __, ...chat } = target;
  const speaker = {
    ...chat,
    ...(origin?.userId !== undefined && { userId: origin.userId }),
    ...(origin?.userName !== undefined && { userName: origin.userName }),
  };
  const redacted = redactSource(speaker, privacy);
  return (redacted.userName ?? redacted.userId)?.replaceAll(/[[\]\n]/g, " ");
}
