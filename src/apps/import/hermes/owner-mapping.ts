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

/** Maps the owner of a session: the home's owner (terminal, or unknown), the person of the account, or the shared group. */
export function mapOwnership({ row, entry, conversations, user, messages }: HermesSession): Ownership {
  const [first] = conversations;
  // The store resolves the person of the account.
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

/** A chat that continues with another session. */
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
