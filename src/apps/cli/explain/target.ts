import type { ConversationDetails, InboundRecord } from "../../../core/diagnostics.ts";
import { PostriderError } from "../../../core/errors.ts";
import { parseKey } from "../../../core/key.ts";
import type { Asker } from "../../../core/owner.ts";
import type { Session } from "../../../core/session.ts";
import type { Store } from "../../../ports/store.ts";
import { resolveSessionArgument } from "../session-argument.ts";

/** The subject of an explanation. */
export type ExplainTarget =
  | { readonly what: "session"; readonly session: Session }
  | { readonly what: "key"; readonly key: string; readonly conversations: readonly ConversationDetails[] }
  | {
      readonly what: "message";
      /** Absent while the message is pending, or after it was cancelled before its turn. */
      readonly session?: Session;
      readonly seq?: number;
      readonly arrivals: readonly InboundRecord[];
    };

export async function resolveExplainTarget(store: Store, who: Asker, text: string): Promise<ExplainTarget> {
  if (text.startsWith("agent:")) return findByKey(store, who, text);
  const [, name, seq] = /^(.+)\/(\d{1,8})$/su.exec(text) ?? [];
  if (name !== undefined && seq !== undefined) {
    const session = await resolveSessionArgument(store, who, name);
    const arrivals = await store.inbox.findInbound({ asker: who, session: session.id, seq: Number(seq) });
    return { what: "message", session, seq: Number(seq), arrivals };
  }
  try {
    return { what: "session", session: await resolveSessionArgument(store, who, text) };
  } catch (error) {
    const arrived = await findByPlatformId(store, who, text);
    if (arrived === undefined) throw error;
    return arrived;
  }
}

async function findByKey(store: Store, asker: Asker, key: string): Promise<ExplainTarget> {
  if (parseKey(key) === undefined) {
    throw new PostriderError(
      "invalid_input",
      `"${key.slice(0, 120)}" is not a key. A key looks like agent:main:telegram:dm:99. Inside a part, write : as %3A and % as %25.`,
      { details: { field: "key" } },
    );
  }
  const conversations = await store.conversations.findConversationsByKey({ asker, key });
  if (conversations.length > 0) return { what: "key", key, conversations };
  const elsewhere = "everyone" in asker ? "" : " Add --everyone to include other people's.";
  throw new PostriderError("not_found", `No conversation has the key ${key.slice(0, 120)}.${elsewhere}`, {
    details: { key },
  });
}

/** Finds a message by `telegram:-100:17`. A colon inside a part is %3A, as in a key. */
async function findByPlatformId(
  store: Store,
  asker: Asker,
  text: string,
): Promise<ExplainTarget | undefined> {
  const parts = text.split(":").map((part) => part.replaceAll("%3A", ":").replaceAll("%25", "%"));
  const [platform, chatId, messageId, ...more] = parts;
  if (platform === undefined || chatId === undefined || messageId === undefined || more.length > 0)
    return undefined;
  const arrivals = await store.inbox.findInbound({ asker, platform, chatId, messageId });
  const [first] = arrivals;
  if (first === undefined) return undefined;
  const session =
    first.session === undefined
      ? undefined
      : await store.sessions.getSession({ asker, session: first.session });
  return {
    what: "message",
    arrivals,
    ...(session !== undefined && { session }),
    ...(session !== undefined && first.seq !== undefined && { seq: first.seq }),
  };
}
