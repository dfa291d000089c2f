import type { Conversation, Opened, PolicyDecision } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import type { ScopeSettings } from "../core/identity.ts";
import { assertSessionId } from "../core/ids.ts";
import type {
  ConversationQuery,
  CurrentConversation,
  Hit,
  ListedSession,
  ListQuery,
  Page,
  SearchRequest,
  Stats,
  ViewVersion,
} from "../core/listing.ts";
import type { Message } from "../core/message.ts";
import type { Asker, PersonId } from "../core/owner.ts";
import { isRefused, type Refused, refuse, throwIfRefused } from "../core/refusal.ts";
import type { ResetSettings } from "../core/reset-policy.ts";
import {
  checkEndReason,
  type NewSession,
  type Session,
  type SessionChange,
  type SessionKind,
} from "../core/session.ts";
import { type SourceInput, source } from "../core/source.ts";
import { cleanTitle, cleanProposedTitle as proposedTitle } from "../core/titles.ts";
import type { ResetNotification } from "../core/turn.ts";
import type { UsageDelta, UsageEntry, UsagePurpose } from "../core/usage.ts";
import type { ViewChange, ViewChangeResult } from "../core/view-change.ts";
import { assertZone } from "../core/zone.ts";
import type { Clock } from "../ports/clock.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import type { Store } from "../ports/store.ts";
import { systemClock, systemZone } from "../system/system-clock.ts";
import { checkArguments } from "./check-arguments.ts";
import { exportSession, importSessionJson, type SessionExport } from "./export.ts";
import { type FollowOptions, followSession } from "./follow.ts";
import { type MessageInput, prepareMessages } from "./message-input.ts";
import {
  buildRouting,
  DEFAULT_RESET,
  generateSessionId,
  type RoutingOptions,
  type RoutingSettings,
} from "./routing.ts";

export interface SessionsOptions {
  readonly store: Store;
  /** The time zone of daily resets and session ids. Default: this machine's. */
  readonly zone?: string;
  /** When conversations are reset. Default: after a day without activity, and daily at 4:00. */
  readonly reset?: ResetSettings;
  /** Who shares a conversation. Default: each person in a group or thread has their own. */
  readonly scope?: ScopeSettings;
  readonly profile?: string;
  /** Time and randomness, for tests. */
  readonly clock?: Clock;
}

export interface OpenOptions extends RoutingOptions {
  /** Starts a new session regardless of the policy. */
  readonly fresh?: boolean;
}

export interface CreateOptions extends Omit<NewSession, "id" | "kind" | "owner"> {
  readonly id?: string;
  readonly kind?: SessionKind;
}

/** Methods on sessions, by asker and id. Without permission, reads return `undefined` and changes throw `not_found`. */
export interface Sessions {
  /**
   * Returns the conversation of this source and its current session. Creates both if needed, and resets them by policy;
   * concurrent callers get the same. `fresh` contains the reason of a reset until `markShown`.
   */
  open(from: SourceInput, options?: OpenOptions): Promise<Opened>;
  /** Records that the model or the person was notified about the reset. */
  markShown(conversation: number, shown: ResetNotification): Promise<void>;
  /** Creates a session without a chat. */
  create(who: { readonly person: PersonId }, options?: CreateOptions): Promise<Session>;

  /** Appends messages and returns their seqs. Resolves when they are stored on disk. */
  append(
    who: Asker,
    id: string,
    messages: MessageInput | readonly MessageInput[],
  ): Promise<readonly number[]>;
  /** The messages that the session shows, for the model. */
  history(
    who: Asker,
    id: string,
    range?: { readonly offset?: number; readonly limit?: number },
  ): Promise<readonly Message[] | undefined>;
  /** The number of messages that the session shows. */
  shownLength(who: Asker, id: string): Promise<number | undefined>;
  /** The view as ranges of messages. Messages are immutable, so equal ranges mean an equal history. */
  ranges(who: Asker, id: string): Promise<ViewRanges | undefined>;
  /** All messages of the session, shown or not. */
  messages(
    who: Asker,
    id: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly Message[] | undefined>;
  /** Yields new messages (or all after a seq) of all processes, until the signal aborts or the session is removed. */
  follow(who: Asker, id: string, options?: FollowOptions): AsyncIterable<Message>;
  /** Replaces the view with these messages. The old ones stay available through `messages`. */
  rewrite(who: Asker, id: string, messages: readonly MessageInput[]): Promise<ViewChangeResult>;
  /** Removes the last human message and everything after it from the view. */
  undo(who: Asker, id: string): Promise<ViewChangeResult>;
  /** Reverts the last undo or rewind, if there is no message since. */
  redo(who: Asker, id: string): Promise<ViewChangeResult>;
  /** Removes everything after this message from the view. */
  rewind(
    who: Asker,
    id: string,
    to: { readonly session?: string; readonly seq: number },
  ): Promise<ViewChangeResult>;
  /** Shows a summary and the last messages. The originals stay searchable. */
  compress(
    who: Asker,
    id: string,
    summary: string,
    options?: { readonly keepLast?: number },
  ): Promise<ViewChangeResult>;
  /** The kept versions of the view, newest first: at most 50, for 30 days. */
  versions(who: Asker, id: string): Promise<readonly ViewVersion[]>;
  /** Restores an earlier version of the view. */
  restore(who: Asker, id: string, version: number): Promise<ViewChangeResult>;
  /** Creates a session with the same view, independent from now on. Takes the same time for any length. */
  fork(who: Asker, id: string, options?: CreateOptions & { readonly keep?: number }): Promise<Session>;
  /** Adds the tokens and cost of a model request. Default purpose: `answer`. */
  recordUsage(
    who: Asker,
    id: string,
    usage: UsageDelta,
    options?: { readonly purpose?: UsagePurpose },
  ): Promise<Session>;
  /** The usage by time, purpose and model. The session's counters are the sum. */
  usageEntries(who: Asker, id: string): Promise<readonly UsageEntry[] | undefined>;

  /** Starts a new session in the conversation. The old one can be resumed. */
  reset(who: Asker, conversation: number): Promise<Opened>;
  /**
   * Makes this session current in the conversation. `undefined` for an unknown session; throws `not_allowed` if the asker or
   * other readers of the chat may not see it.
   */
  switchTo(who: Asker, conversation: number, id: string): Promise<Opened | undefined>;
  /** Sets the title, which is unique for each owner. An empty title clears it. */
  title(who: Asker, id: string, title: string): Promise<Session>;
  /**
   * Sets a title without failing, such as one proposed by a model: cuts it if needed and adds a number if it is taken. With
   * `ifUntitled` it keeps an existing title. `usage` of the proposal is recorded in any case.
   */
  autoTitle(
    who: Asker,
    id: string,
    title: string,
    options?: { readonly ifUntitled?: boolean; readonly usage?: UsageDelta },
  ): Promise<Session>;
  /** The newest session of a lineage ("plan" finds "plan #3"), or exactly "plan #2". */
  findByTitle(who: Asker, title: string): Promise<Session | undefined>;
  /** The session with exactly this id. */
  get(who: Asker, id: string): Promise<Session | undefined>;
  /** By id, handle or the start of an id. Throws `ambiguous` with the candidates if several match. */
  find(who: Asker, text: string): Promise<Session | undefined>;
  list(who: Asker, query?: Omit<ListQuery, "asker">): Promise<Page<ListedSession>>;
  search(who: Asker, text: string, query?: Omit<SearchRequest, "asker" | "text">): Promise<readonly Hit[]>;
  change(who: Asker, id: string, change: SessionChange): Promise<Session>;
  archive(who: Asker, id: string, archived?: boolean): Promise<Session>;
  /** Deletes the session and overwrites its text. Messages that a fork still shows are kept for the fork. */
  remove(who: Asker, id: string): Promise<boolean>;
  /** Returns ended sessions unused for 90 days. Removes them only with `dryRun: false`. */
  prune(who: Asker, options?: PruneOptions): Promise<readonly Session[]>;
  /** Prevents automatic resets of the session for this time, while some work is in progress. */
  hold(who: Asker, id: string, name: string, ms: number): Promise<void>;
  release(who: Asker, id: string, name: string): Promise<boolean>;
  /** Whether the asker may see a session besides this one. */
  hasOther(who: Asker, id: string): Promise<boolean>;
  stats(who: Asker): Promise<Stats>;
  blob(who: Asker, hash: string): Promise<Uint8Array | undefined>;
  /** The conversations that point to a session, or those of a chat. Resets nothing. */
  conversations(who: Asker, of: string | SourceInput): Promise<readonly Conversation[]>;
  /** All conversations of the asker with their current session, in pages. Resets nothing. */
  listConversations(who: Asker, query?: Omit<ConversationQuery, "asker">): Promise<Page<CurrentConversation>>;
  /** The decisions about the conversation's session with their reasons, newest first. */
  decisions(who: Asker, conversation: number): Promise<readonly PolicyDecision[]>;

  /** The session as plain JSON: messages, view and bytes. */
  export(who: Asker, id: string): Promise<SessionExport | undefined>;
  /** Imports the result of `export`. Throws `invalid_input` if a session with this id exists. */
  import(json: unknown, options?: { readonly owner?: string }): Promise<Session>;
}

export interface PruneOptions {
  readonly olderThanDays?: number;
  readonly platform?: string;
  readonly kinds?: readonly SessionKind[];
  readonly dryRun?: boolean;
  readonly limit?: number;
}

const DAY_MS = 24 * 3600 * 1000;

/** The session layer over a store. It has no state of its own, so a program can create several. */
export function createSessions(options: SessionsOptions): Sessions {
  const { store, scope = {}, profile = "main", clock = systemClock, reset = DEFAULT_RESET } = options;
  const configuredZone = options.zone === undefined ? undefined : assertZone(options.zone);
  const settings: RoutingSettings = {
    profile,
    reset,
    scope,
    clock,
    // Reading the system's zone is slow, and callers that provide all session ids never need it.
    get zone() {
      return configuredZone ?? assertZone(systemZone());
    },
  };
  const createId = (): string => generateSessionId(settings);
  const changeView = async (
    who: Asker,
    id: string,
    change: WithoutAsker<ViewChange>,
  ): Promise<ViewChangeResult> => {
    const ask = { asker: who, session: assertSessionId(id), now: clock.now() };
    return throwIfRefused(await store.messages.changeView({ ...change, ...ask }));
  };

  /** Retries with another generated id if the first one is taken. */
  const createWithFreeId = async (
    requestedId: string | undefined,
    create: (id: string) => Promise<Session | Refused>,
  ): Promise<Session> => {
    for (;;) {
      const created = await create(assertSessionId(requestedId ?? createId()));
      const isTaken = isRefused(created) && created.details?.field === "id";
      if (requestedId !== undefined || !isTaken) return throwIfRefused(created);
    }
  };

  const get = (who: Asker, id: string): Promise<Session | undefined> =>
    store.sessions.getSession({ asker: who, session: id });

  return checkArguments({
    async open(from, { fresh = false, ...rest } = {}) {
      return store.conversations.open({ ...buildRouting(from, settings, rest), fresh });
    },
    markShown: (conversation, shown) =>
      store.conversations.markResetNotified({ conversation, notified: shown }),
    async create(who, { id: requestedId, kind = "chat", title: raw, ...rest } = {}) {
      const title = raw === undefined ? undefined : cleanTitle(raw);
      const session = { ...rest, kind, owner: who.person, ...(title !== undefined && { title }) };
      return createWithFreeId(requestedId, (id) =>
        store.sessions.create({ session: { ...session, id }, profile, now: clock.now() }),
      );
    },

    async append(who, id, input) {
      const { messages, blobs } = prepareMessages(input);
      const ask = { asker: who, session: assertSessionId(id), now: clock.now() };
      return throwIfRefused(await store.messages.append({ ...ask, messages, blobs })).seqs;
    },
    history: (who, id, range = {}) => store.messages.readHistory({ ...range, asker: who, session: id }),
    async shownLength(who, id) {
      const shape = await store.messages.getViewRanges({ asker: who, session: id });
      return shape?.pieces.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0);
    },
    ranges: (who, id) => store.messages.getViewRanges({ asker: who, session: id }),
    messages: (who, id, range = {}) => store.messages.listMessages({ ...range, asker: who, session: id }),
    follow: (who, id, range = {}) => followSession(store, who, id, range),
    async rewrite(who, id, input) {
      const { messages, blobs } = prepareMessages(input);
      return changeView(who, id, { kind: "rewrite", messages, blobs });
    },
    undo: (who, id) => changeView(who, id, { kind: "undo" }),
    redo: (who, id) => changeView(who, id, { kind: "redo" }),
    rewind: (who, id, to) =>
      changeView(who, id, { kind: "rewind", to: { session: to.session ?? id, seq: to.seq } }),
    async compress(who, id, summary, { keepLast = 0 } = {}) {
      const [message] = prepareMessages({ role: "note", text: summary, extra: { summary: true } }).messages;
      if (message === undefined)
        throw new PostriderError("internal", "The summary is empty after preparation.");
      return changeView(who, id, { kind: "compress", summary: message, keepLast });
    },
    versions: (who, id) => store.messages.listVersions({ asker: who, session: id }),
    restore: (who, id, version) => changeView(who, id, { kind: "restore", version }),
    async fork(who, origin, { keep, id: requestedId, title: raw, ...rest } = {}) {
      const title = raw === undefined ? undefined : cleanTitle(raw);
      const ask = { asker: who, session: assertSessionId(origin), now: clock.now() };
      const copy = { ...rest, ...(title !== undefined && { title }) };
      const upTo = keep === undefined ? {} : { keep };
      return createWithFreeId(requestedId, (id) =>
        store.sessions.fork({ ...ask, ...upTo, newSession: { ...copy, id } }),
      );
    },
    async recordUsage(who, id, usage, { purpose = "answer" } = {}) {
      const ask = { asker: who, session: assertSessionId(id) };
      return throwIfRefused(await store.sessions.recordUsage({ ...ask, purpose, usage, now: clock.now() }));
    },
    usageEntries: (who, id) => store.sessions.listUsageEntries({ asker: who, session: id }),

    async reset(who, conversation) {
      const newSession = { id: createId(), kind: "chat" as const };
      return throwIfRefused(
        await store.conversations.reset({ asker: who, conversation, newSession, now: clock.now() }),
      );
    },
    async switchTo(who, conversation, id) {
      const result = await store.conversations.switchTo({
        asker: who,
        conversation,
        session: assertSessionId(id),
        now: clock.now(),
      });
      return isRefused(result) && result.refused === "not_found" ? undefined : throwIfRefused(result);
    },
    async title(who, id, raw) {
      const title = cleanTitle(raw);
      return throwIfRefused(
        await store.sessions.setTitle({
          asker: who,
          session: assertSessionId(id),
          ...(title !== undefined && { title }),
        }),
      );
    },
    async autoTitle(who, id, raw, { ifUntitled = false, usage } = {}) {
      const title = proposedTitle(raw);
      const ask = { asker: who, session: assertSessionId(id) };
      const asked = usage === undefined ? undefined : { usage, now: clock.now() };
      if (title !== undefined)
        return throwIfRefused(
          await store.sessions.setTitle({
            ...ask,
            title,
            numbered: true,
            ifUntitled,
            ...(asked !== undefined && { titleUsage: asked }),
          }),
        );
      if (asked !== undefined)
        return throwIfRefused(await store.sessions.recordUsage({ ...ask, purpose: "title", ...asked }));
      return throwIfRefused((await get(who, id)) ?? refuse("not_found", "There is no such session."));
    },
    findByTitle: async (who, raw) => {
      const title = cleanTitle(raw);
      return title === undefined ? undefined : store.sessions.findByTitle({ asker: who, title });
    },
    get,
    async find(who, text) {
      const found = await store.sessions.find({ asker: who, text });
      if (found.length > 1) {
        throw new PostriderError(
          "ambiguous",
          `"${text.slice(0, 80)}" could be ${found.length} sessions. Write more of the id.`,
          {
            details: { candidates: found.map(({ id, handle, title }) => ({ id, handle, title })) },
          },
        );
      }
      return found[0];
    },
    list: (who, query = {}) => store.sessions.querySessions({ ...query, asker: who }),
    search: (who, text, query = {}) => store.messages.searchMessages({ ...query, asker: who, text }),
    async change(who, id, { ended: why, ...rest }) {
      const ended = typeof why === "string" ? checkEndReason(why, "change.ended") : why;
      const change = { ...rest, ...(ended !== undefined && { ended }) };
      return throwIfRefused(
        await store.sessions.change({ asker: who, session: assertSessionId(id), change, now: clock.now() }),
      );
    },
    async archive(who, id, archived = true) {
      const ask = { asker: who, session: assertSessionId(id), now: clock.now() };
      return throwIfRefused(await store.sessions.change({ ...ask, change: { archived } }));
    },
    remove: async (who, id) =>
      throwIfRefused(await store.sessions.remove({ asker: who, session: id, now: clock.now() })),
    async prune(who, { olderThanDays = 90, dryRun = true, ...rest } = {}) {
      const now = clock.now();
      const before = now - checkLength(olderThanDays, "olderThanDays") * DAY_MS;
      return store.sessions.prune({ ...rest, asker: who, before, dryRun, now });
    },
    async hold(who, id, name, ms) {
      const until = clock.now() + checkLength(ms, "ms");
      throwIfRefused(await store.sessions.hold({ asker: who, session: assertSessionId(id), name, until }));
    },
    release: (who, id, name) => store.sessions.release({ asker: who, session: id, name }),
    hasOther: (who, id) => store.sessions.hasOther({ asker: who, session: id }),
    stats: (who) => store.sessions.getStats({ asker: who }),
    blob: (who, hash) => store.messages.readBlob({ asker: who, hash }),
    async conversations(who, of) {
      return store.conversations.findConversations({
        asker: who,
        ...(typeof of === "string" ? { session: of } : { source: source(of) }),
      });
    },
    listConversations: (who, query = {}) => store.conversations.listConversations({ ...query, asker: who }),
    decisions: (who, conversation) => store.conversations.listDecisions({ asker: who, conversation }),

    export: (who, id) => exportSession(store, who, id),
    import: (json, { owner } = {}) =>
      importSessionJson(store, json, { profile, now: clock.now(), ...(owner !== undefined && { owner }) }),
  });
}

/** A negative duration would prune sessions in use. */
function checkLength(value: number, field: string): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw new PostriderError("invalid_input", `${field} must be a number, zero or more.`, {
    details: { field },
  });
}

type WithoutAsker<T> = T extends unknown ? Omit<T, "asker" | "session" | "now"> : never;
