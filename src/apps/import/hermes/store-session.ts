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

/** The result of storing a session. */
export type ImportStatus = "imported" | "grown" | "unchanged" | "changed" | "failed";

export interface ImportOutcome {
  readonly status: ImportStatus;
  /** The hash of the messages in the source. */
  readonly hash: string;
  readonly stored?: Session;
  /** The reason of a failure, or the difference. */
  readonly why?: string;
  readonly chats: readonly { readonly conversation: ImportedConversation; readonly why?: string }[];
}

export interface ImportTarget {
  readonly store: Store;
  readonly sessions: Sessions;
}

const EVERYONE: Asker = { everyone: true };
const PROFILE = "main";

/** Stores one session in one commit, reads it back and compares. An existing session only grows, if it is a prefix. */
export async function storeSession(into: ImportTarget, ready: PreparedSession): Promise<ImportOutcome> {
  const { id } = ready.session;
  const said = ready.messages.map(toCanonicalMessage);
  const hash = computeFingerprint(said);
  const here = await into.sessions.get(EVERYONE, id);
  if (here !== undefined) return extendSession(into, ready, here, said, hash);
  const { wantedTitle: _, ...session } = ready;
  const made = await into.store.sessions.importSession({ ...session, profile: PROFILE });
  if (isRefused(made)) {
    // A deleted session that a fork still needs has this id.
    const removed = made.details?.field === "id";
    const why = removed ? "it was deleted here, and a fork still shows a part of it" : made.reason;
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
    const why = `it exists here, and message ${common + 1} differs: not changed`;
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

/** Compares the fields of the session. Its end depends on whether a chat continues with it. */
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
  return field && `${field} differs from the source`;
}

function toPlainJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Reads the stored messages and bytes back and compares them with the source. */
async function findMessageDifference(
  { sessions }: ImportTarget,
  { session: { id }, blobs }: PreparedSession,
  said: readonly string[],
  hash: string,
): Promise<string | undefined> {
  const stored = (await sessions.messages(EVERYONE, id))?.map(toCanonicalMessage) ?? [];
  if (stored.length !== said.length)
    return `${pluralize(stored.length, "message was", "messages were")} stored instead of ${said.length}`;
  if (computeFingerprint(stored) !== hash)
    return `message ${countCommonStart(stored, said) + 1} differs from the source`;
  for (const blob of blobs) {
    const bytes = await sessions.blob(EVERYONE, blob.hash);
    if (bytes === undefined || createHash("sha256").update(bytes).digest("hex") !== blob.hash)
      return `the bytes ${blob.hash.slice(0, 12)}… differ from the source`;
  }
  return undefined;
}

/** Checks whether each chat continues with the session, and the reason if not. */
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
          ? "the chat was active here at the same time or later: not changed"
          : "the session was not stored, or has another owner than the chat",
      };
    }),
  );
}
