import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Asker } from "../../../core/owner.ts";
import { pluralize } from "../../../core/pluralize.ts";
import { isRefused } from "../../../core/refusal.ts";
import type { Session } from "../../../core/session.ts";
import type { ImportedConversation } from "../../../core/transfer.ts";
import type { Store } from "../../../ports/store.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import { computeFingerprint, countCommonStart, toCanonicalMessage } from "./fingerprint.ts";
import type { PreparedSession } from "./session-mapping.ts";

/** What became of a session. */
export type ImportStatus = "imported" | "grown" | "unchanged" | "changed" | "failed";

export interface ImportOutcome {
  readonly status: ImportStatus;
  /** Of what was read from the source. */
  readonly hash: string;
  readonly stored?: Session;
  /** Why it failed, or what is different. */
  readonly why?: string;
  readonly chats: readonly { readonly conversation: ImportedConversation; readonly why?: string }[];
}

export interface ImportTarget {
  readonly store: Store;
  readonly sessions: Sessions;
}

const EVERYONE: Asker = { everyone: true };
const PROFILE = "main";

/**
 * Brings one session in, in one commit, reads it back and compares. One that is here already gets what the source has
 * more of it, if what is here is how the source begins; else it is left alone.
 */
export async function storeSession(into: ImportTarget, ready: PreparedSession): Promise<ImportOutcome> {
  const { id } = ready.session;
  const said = ready.messages.map(toCanonicalMessage);
  const hash = computeFingerprint(said);
  const here = await into.sessions.get(EVERYONE, id);
  if (here !== undefined) return extendSession(into, ready, here, said, hash);
  const { wantedTitle: _, ...session } = ready;
  const made = await into.store.sessions.importSession({ ...session, profile: PROFILE });
  if (isRefused(made)) {
    // The id is taken by a session that nobody can ask for any more.
    const removed = made.details?.field === "id";
    const why = removed ? "it was removed here, and a fork still shows a part of it" : made.reason;
    return {
      status: removed ? "changed" : "failed",
      hash,
      why,
      chats: await checkConversations(into, ready),
    };
  }
  const why = findFieldDifference(made, ready) ?? (await findMessageDifference(into, ready, said, hash));
  const chats = await checkConversations(into, ready);
  return {
    status: why === undefined ? "imported" : "failed",
    hash,
    stored: made,
    chats,
    ...(why && { why }),
  };
}

async function extendSession(
  into: ImportTarget,
  ready: PreparedSession,
  here: Session,
  said: readonly string[],
  hash: string,
): Promise<ImportOutcome> {
  const { id } = here;
  const before = (await into.sessions.messages(EVERYONE, id))?.map(toCanonicalMessage) ?? [];
  const common = countCommonStart(before, said);
  if (common < Math.min(before.length, said.length)) {
    const why = `it is here already, and message ${common + 1} is another one: left as it is here`;
    return { status: "changed", hash, stored: here, why, chats: await checkConversations(into, ready) };
  }
  const messages = ready.messages.slice(before.length);
  const isLonger = messages.length > 0;
  let stored = here;
  if (isLonger || (ready.conversations ?? []).length > 0) {
    const named = new Set(
      messages.flatMap(({ parts }) => parts.flatMap((part) => ("blob" in part ? part.blob : []))),
    );
    const more = await into.store.sessions.importMessages({
      session: id,
      after: before.length,
      messages,
      blobs: ready.blobs.filter((blob) => named.has(blob.hash)),
      conversations: ready.conversations ?? [],
      ...(isLonger && { usage: ready.usage }),
      ...(isLonger && ready.session.title !== undefined && { title: ready.session.title }),
      profile: PROFILE,
      now: ready.now,
    });
    if (isRefused(more))
      return { status: "failed", hash, why: more.reason, chats: await checkConversations(into, ready) };
    stored = more;
  }
  const why = isLonger ? await findMessageDifference(into, ready, said, hash) : undefined;
  const status = why !== undefined ? "failed" : isLonger ? "grown" : "unchanged";
  return { status, hash, stored, chats: await checkConversations(into, ready), ...(why && { why }) };
}

/** What is said of the session itself. Whether it has ended depends on whether a chat goes on there. */
function findFieldDifference(
  stored: Session,
  { session, usage, createdAt, parent }: PreparedSession,
): string | undefined {
  const wanted = {
    kind: session.kind,
    cwd: session.cwd,
    config: toPlainJson(session.config),
    usage,
    createdAt,
    parent,
  };
  const got = { ...stored, config: toPlainJson(stored.config) } as Readonly<Record<string, unknown>>;
  const field = Object.entries(wanted).find(([name, value]) => !isDeepStrictEqual(got[name], value))?.[0];
  return field && `${field} is not as it was read`;
}

function toPlainJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Reads back what was said, and the bytes, and compares both with what was read from the source. */
async function findMessageDifference(
  { sessions }: ImportTarget,
  { session: { id }, blobs }: PreparedSession,
  said: readonly string[],
  hash: string,
): Promise<string | undefined> {
  const stored = (await sessions.messages(EVERYONE, id))?.map(toCanonicalMessage) ?? [];
  if (stored.length !== said.length)
    return `${pluralize(stored.length, "message is", "messages are")} here instead of ${said.length}`;
  if (computeFingerprint(stored) !== hash)
    return `message ${countCommonStart(stored, said) + 1} is not as it was read`;
  for (const blob of blobs) {
    const bytes = await sessions.blob(EVERYONE, blob.hash);
    if (bytes === undefined || createHash("sha256").update(bytes).digest("hex") !== blob.hash)
      return `the bytes ${blob.hash.slice(0, 12)}… are not as they were read`;
  }
  return undefined;
}

/** Whether each chat goes on in the session now, and if not, why. */
async function checkConversations(
  { sessions }: ImportTarget,
  ready: PreparedSession,
): Promise<ImportOutcome["chats"]> {
  const { id } = ready.session;
  return Promise.all(
    (ready.conversations ?? []).map(async (conversation) => {
      const there = await sessions.conversations(EVERYONE, conversation.source);
      if (there.some(({ session }) => session === id)) return { conversation };
      const wentOn = there.some(({ activeAt }) => activeAt >= conversation.activeAt);
      return {
        conversation,
        why: wentOn
          ? "the chat was active here at the same time or later: left where it is"
          : "the session was not stored, or belongs to someone else than those who read there",
      };
    }),
  );
}
