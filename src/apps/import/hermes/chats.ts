import { type ScopeRules, scopeFor } from "../../../core/identity.ts";
import type { Source } from "../../../core/source.ts";
import type { ImportedConversation } from "../../../core/transfer.ts";
import type { IndexEntry } from "./index-file.ts";

/** The chats of the index: those that continue with their session, newest first, and the others with a reason. */
export interface IndexedChats {
  readonly bySession: ReadonlyMap<string, readonly ImportedConversation[]>;
  readonly skipped: readonly { readonly entry: IndexEntry; readonly why: string }[];
}

interface IndexedChat {
  readonly entry: IndexEntry;
  readonly conversation: ImportedConversation;
  readonly shared: boolean;
}

/**
 * Maps entries to conversations with Postrider's default rules. A group key without a person stays one shared
 * conversation. Key formats changed over time, so of several entries for one chat the newest wins.
 */
export function mapChats(entries: readonly IndexEntry[]): IndexedChats {
  const left: { entry: IndexEntry; why: string }[] = [];
  const places = new Map<string, IndexedChat[]>();
  for (const entry of entries) {
    if ("why" in entry.chat) {
      left.push({ entry, why: entry.chat.why });
      continue;
    }
    const { source } = entry.chat;
    const shared = isSharedKey(entry.key, source);
    const conversation = { source, scope: buildScope(source, shared), activeAt: getActiveAt(entry) };
    const { platform, chatType, chatId, threadId = "" } = source;
    const place = JSON.stringify([platform, chatType, chatId, threadId]);
    getList(places, place).push({ entry, conversation, shared });
  }
  const chosen: IndexedChat[] = [];
  for (const chats of places.values()) {
    const seen = new Set<string>();
    const newest = chats.toSorted(compareActivity);
    for (const chat of newest) {
      const who = getParticipant(chat);
      const older = chat.shared !== newest[0]?.shared || seen.has(who);
      seen.add(who);
      if (older) left.push({ entry: chat.entry, why: "the index has a newer entry for the same chat" });
      else chosen.push(chat);
    }
  }
  const bySession = new Map<string, ImportedConversation[]>();
  for (const { entry, conversation } of chosen.toSorted(compareActivity)) {
    getList(bySession, entry.session).push(conversation);
  }
  return { bySession, skipped: left };
}

function getList<Item>(lists: Map<string, Item[]>, name: string): Item[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}

function getActiveAt({ updatedAt, createdAt }: IndexEntry): number {
  return updatedAt ?? createdAt ?? 0;
}

function compareActivity(a: IndexedChat, b: IndexedChat): number {
  return b.conversation.activeAt - a.conversation.activeAt || (a.entry.key < b.entry.key ? -1 : 1);
}

/** A direct chat and a shared chat have one conversation for all people. */
function getParticipant({ conversation: { source }, shared }: IndexedChat): string {
  if (shared || source.chatType === "dm") return "";
  return source.userIdAlt ?? source.userId ?? "";
}

/** Whether the key omits the person that the origin names. */
export function isSharedKey(key: string, source: Source): boolean {
  const { platform, chatType, chatId, threadId } = source;
  const person = source.userIdAlt ?? source.userId;
  if (chatType === "dm" || person === undefined) return false;
  const chat = `agent:main:${platform}:${chatType}:${chatId}`;
  const thread = threadId === undefined ? chat : `${chat}:${threadId}`;
  return key !== `${thread}:${person}` && (key === chat || key === thread);
}

function buildScope(source: Source, shared: boolean): ScopeRules {
  const scope = scopeFor({}, source.platform);
  if (!shared) return scope;
  return source.threadId === undefined
    ? { ...scope, groupsPerUser: false }
    : { ...scope, threadsPerUser: false };
}
