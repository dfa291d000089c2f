import { type Identity, isShared, type ScopeRules } from "../../core/identity.ts";

/** One part of a key, and the rule that put it there or left it out. */
export interface KeyPart {
  readonly part: "profile" | "platform" | "chat_type" | "chat_id" | "thread_id" | "participant";
  readonly value: string | null;
  readonly why: string;
}

export function listKeyParts(identity: Identity, scope: ScopeRules): readonly KeyPart[] {
  const { profile, platform, chatType, chatId, threadId, participant } = identity;
  return [
    { part: "profile", value: profile, why: "which of this home's agents is spoken to" },
    { part: "platform", value: platform, why: "where the message came from" },
    { part: "chat_type", value: chatType, why: "as the platform calls the chat" },
    { part: "chat_id", value: chatId, why: "the chat in which it was said" },
    {
      part: "thread_id",
      value: threadId ?? null,
      why: threadId === undefined ? "not said in a thread" : "each thread is a conversation of its own",
    },
    {
      part: "participant",
      value: participant?.altId ?? participant?.id ?? null,
      why: explainParticipant(identity, scope),
    },
  ];
}

function explainParticipant(identity: Identity, scope: ScopeRules): string {
  const { chatType, participant, threadId } = identity;
  if (chatType === "dm") return "a direct chat has one person, so nobody is named";
  if (participant !== undefined) {
    const which =
      participant.altId === undefined ? "" : "; its alternative id, which stays when the first one changes";
    const where = threadId === undefined ? "group" : "thread";
    return `each account in a ${where} has a conversation of its own${which}`;
  }
  if (!isShared(identity, scope)) return "the platform did not say who spoke";
  return scope.groupsPerUser
    ? "everyone in the thread shares one conversation (threads_per_user is off)"
    : "everyone in the chat shares one conversation (groups_per_user is off)";
}

export function formatIdentityJson({
  profile,
  platform,
  chatType,
  chatId,
  threadId,
  participant,
}: Identity): object {
  return {
    profile,
    platform,
    chat_type: chatType,
    chat_id: chatId,
    thread_id: threadId ?? null,
    participant:
      participant === undefined ? null : { id: participant.id ?? null, alt_id: participant.altId ?? null },
  };
}

/** A line for each part. */
export function formatKeyParts(parts: readonly KeyPart[]): string[][] {
  return parts.map(({ part, value, why }) => [part.replace("_id", "").replace("_", " "), value ?? "-", why]);
}
