import { getChatAudience, OWNER } from "../../../core/owner.ts";
import { localSource, type Source } from "../../../core/source.ts";
import type { ImportedSession } from "../../../core/transfer.ts";
import { isSharedKey } from "./chats.ts";
import { isKnownPlatform } from "./index-file.ts";
import { findSessionMeta } from "./message-mapping.ts";
import type { HermesSession } from "./session-mapping.ts";

type Ownership = Pick<ImportedSession, "account" | "audience" | "origin" | "platform"> & {
  readonly owner?: string;
};

/**
 * Whose a session is, as live ones are: the terminal's belong to the owner of the home, a messenger's to the person
 * behind the account, what a group shared to that group. Where nothing tells, the owner of the home has it.
 */
export function mapOwnership({ row, entry, conversations, user, messages }: HermesSession): Ownership {
  const [first] = conversations;
  // The store finds whoever speaks there.
  if (first !== undefined) return { origin: first.source, platform: first.source.platform };
  if (entry !== undefined && "source" in entry.chat) return mapFormerChat(entry.key, entry.chat.source);
  const source = row.source ?? findSessionMeta(messages)?.platform;
  const name = source === "cli" ? "local" : source;
  if (typeof name !== "string" || !isKnownPlatform(name)) return { owner: OWNER };
  if (name === "local") return { owner: OWNER, origin: localSource(), platform: name };
  return {
    platform: name,
    ...(user === undefined ? { owner: OWNER } : { account: { platform: name, userId: user } }),
  };
}

/** A chat that has gone on elsewhere since. */
function mapFormerChat(key: string, source: Source): Ownership {
  const { platform, userIdAlt, userName } = source;
  const chat = getChatAudience(source);
  const place = { origin: source, platform, ...(chat !== undefined && { audience: chat }) };
  if (chat !== undefined && isSharedKey(key, source)) return { ...place, owner: chat };
  const userId = source.userId ?? (chat === undefined ? source.chatId : undefined);
  if (userId === undefined && userIdAlt === undefined) return { ...place, owner: chat ?? OWNER };
  return {
    ...place,
    account: {
      platform,
      ...(userId !== undefined && { userId }),
      ...(userIdAlt !== undefined && { userIdAlt }),
      ...(userName !== undefined && { userName }),
    },
  };
}
