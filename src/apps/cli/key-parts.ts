import { type Identity, isShared, type ScopeRules } from "../../core/identity.ts";

/** One part of a key, and the rule that includes or omits it. */
export interface KeyPart {
  readonly part: "profile" | "platform" | "chat_type" | "chat_id" | "thread_id" | "participant";
  readonly value: string | null;
  readonly why: string;
}

export function listKeyParts(identity: Identity, scope: ScopeRules): readonly KeyPart[] {
  const { profile, platform, chatType, chatId, threadId, participant } = identity;
  return [
    { part: "profile", value: profile, why: "the agent of this home that answers" },
    { part: "platform", value: platform, why: "the platform of the message" },
    { part: "chat_type", value: chatType, why: "the type of the chat on the platform" },
    { part: "chat_id", value: chatId, why: "the chat of the message" },
    {
      part: "thread_id",
      value: threadId ?? null,
      why: threadId === undefined ? "the message is not in a thread" : "each thread has its own conversation",
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
  if (chatType === "dm") return "omitted: a direct chat has one person";
  if (participant !== undefined) {
    const which =
      participant.altId === undefined
        ? ""
        : "; this is its alternative id, which stays when the first one changes";
    const where = threadId === undefined ? "group" : "thread";
    return `each account in a ${where} has its own conversation${which}`;
  }
  if (!isShared(identity, scope)) return "the platform does not name the sender";
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

/** One row per part. */
export function formatKeyParts(parts: readonly KeyPart[]): string[][] {
  return parts.map(({ part, value, why }) => [part.replace("_id", "").replace("_", " "), value ?? "-", why]);
}
