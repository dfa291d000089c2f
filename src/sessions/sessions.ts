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
  /** The zone in which "daily at 4" is meant and session ids are written. Default: this machine's. */
  readonly zone?: string;
  /** When conversations start afresh. Default: after a day of silence, and daily at 4. */
  readonly reset?: ResetSettings;
  /** Who shares a conversation. Default: everyone in a group or thread has their own. */
  readonly scope?: ScopeSettings;
  readonly profile?: string;
  /** For tests: time and chance. */
  readonly clock?: Clock;
}

export interface OpenOptions extends RoutingOptions {
  /** Start a new session whatever the policy says. */
  readonly fresh?: boolean;
}

export interface CreateOptions extends Omit<NewSession, "id" | "kind" | "owner"> {
  readonly id?: string;
  readonly kind?: SessionKind;
}

/** A session by id, and who asks. Reading what one may not see gives `undefined`; changing it is `not_found`. */
export interface Sessions {
  /**
   * The conversation of this source and its current session, made at first contact and renewed by policy. Two
   * callers at once get the same one. `fresh` tells why a new session began, until `markShown`.
   */
  open(from: SourceInput, options?: OpenOptions): Promise<Opened>;
  /** The model or the person was told about the fresh start; it will not be reported again. */
  markShown(conversation: number, shown: ResetNotification): Promise<void>;
  /** A session that belongs to no chat, addressed by its id. */
  create(who: { readonly person: PersonId }, options?: CreateOptions): Promise<Session>;

  /** Adds messages at the end. Resolves when they are on the disk; returns their seqs. */
  append(
    who: Asker,
    id: string,
    messages: MessageInput | readonly MessageInput[],
  ): Promise<readonly number[]>;
  /** What the session shows: what the model should see. */
  history(
    who: Asker,
    id: string,
    range?: { readonly offset?: number; readonly limit?: number },
  ): Promise<readonly Message[] | undefined>;
  /** How many messages the session shows. */
  shownLength(who: Asker, id: string): Promise<number | undefined>;
  /** What it shows, as runs of messages. Messages never change, so the same shape is the same history. */
  ranges(who: Asker, id: string): Promise<ViewRanges | undefined>;
  /** Everything ever said in it, shown or not. */
  messages(
    who: Asker,
    id: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly Message[] | undefined>;
  /** Yields what is said from now on (or after a seq), whichever process says it, until the signal aborts or it is removed. */
  follow(who: Asker, id: string, options?: FollowOptions): AsyncIterable<Message>;
  /** Shows these messages and nothing else. What was said stays readable through `messages`. */
  rewrite(who: Asker, id: string, messages: readonly MessageInput[]): Promise<ViewChangeResult>;
  /** Takes the last human message and all after it out of view. */
  undo(who: Asker, id: string): Promise<ViewChangeResult>;
  /** Takes back the last undo or rewind, unless something was said since. */
  redo(who: Asker, id: string): Promise<ViewChangeResult>;
  /** Shows nothing after this message. */
  rewind(
    who: Asker,
    id: string,
    to: { readonly session?: string; readonly seq: number },
  ): Promise<ViewChangeResult>;
  /** Shows a summary and the last messages instead of all of them. The originals stay searchable. */
  compress(
    who: Asker,
    id: string,
    summary: string,
    options?: { readonly keepLast?: number },
  ): Promise<ViewChangeResult>;
  /** The shapes a session had, newest first; 50 or 30 days are kept. */
  versions(who: Asker, id: string): Promise<readonly ViewVersion[]>;
  /** Shows what an earlier version showed. */
  restore(who: Asker, id: string, version: number): Promise<ViewChangeResult>;
  /** A new session that shows the same; each goes its own way from here. Costs the same at any length. */
  fork(who: Asker, id: string, options?: CreateOptions & { readonly keep?: number }): Promise<Session>;
  /** Adds a model call's tokens and cost, under its purpose: an answer, unless said. */
  recordUsage(
    who: Asker,
    id: string,
    usage: UsageDelta,
    options?: { readonly purpose?: UsagePurpose },
  ): Promise<Session>;
  /** What it has used, by time, purpose and model; its counters are the sum. */
  usageEntries(who: Asker, id: string): Promise<readonly UsageEntry[] | undefined>;

  /** The conversation gets a new session. The old one stays resumable. */
  reset(who: Asker, conversation: number): Promise<Opened>;
  /** The conversation goes on in this session. Unknown: `undefined`. Not yours, or not for everyone there: `not_allowed`. */
  switchTo(who: Asker, conversation: number, id: string): Promise<Opened | undefined>;
  /** Sets the title, unique among yours; empty clears it. */
  title(who: Asker, id: string, title: string): Promise<Session>;
  /**
   * A title that must not fail, such as a model's: shortened, and with the next number if you have it already. With
   * `ifUntitled` it never replaces one that is there. `usage` is what asking for it has used; it is counted in any case.
   */
  autoTitle(
    who: Asker,
    id: string,
    title: string,
    options?: { readonly ifUntitled?: boolean; readonly usage?: UsageDelta },
  ): Promise<Session>;
  /** The newest of a lineage ("plan" finds "plan #3"), or exactly "plan #2". */
  findByTitle(who: Asker, title: string): Promise<Session | undefined>;
  /** The session with exactly this id. */
  get(who: Asker, id: string): Promise<Session | undefined>;
  /** By id, handle or unambiguous beginning of an id. Several: `ambiguous`, with the candidates in details. */
  find(who: Asker, text: string): Promise<Session | undefined>;
  list(who: Asker, query?: Omit<ListQuery, "asker">): Promise<Page<ListedSession>>;
  search(who: Asker, text: string, query?: Omit<SearchRequest, "asker" | "text">): Promise<readonly Hit[]>;
  change(who: Asker, id: string, change: SessionChange): Promise<Session>;
  archive(who: Asker, id: string, archived?: boolean): Promise<Session>;
  /** Gone, and its words overwritten. What a fork still shows stays with the fork. */
  remove(who: Asker, id: string): Promise<boolean>;
  /** Ended sessions unused for 90 days. Tells what would go; with `dryRun: false` they go. */
  prune(who: Asker, options?: PruneOptions): Promise<readonly Session[]>;
  /** While held, the policy does not end it: some work of yours is not done. */
  hold(who: Asker, id: string, name: string, ms: number): Promise<void>;
  release(who: Asker, id: string, name: string): Promise<boolean>;
  /** Whether this person has any session but this one. */
  hasOther(who: Asker, id: string): Promise<boolean>;
  stats(who: Asker): Promise<Stats>;
  blob(who: Asker, hash: string): Promise<Uint8Array | undefined>;
  /** The conversations that point at a session, or those of a chat. Looking touches nothing and resets nothing. */
  conversations(who: Asker, of: string | SourceInput): Promise<readonly Conversation[]>;
  /** All your conversations, in pages, each with the session that is current there. The same holds: it only reads. */
  listConversations(who: Asker, query?: Omit<ConversationQuery, "asker">): Promise<Page<CurrentConversation>>;
  /** Why a conversation started afresh, or did not; newest first. */
  decisions(who: Asker, conversation: number): Promise<readonly PolicyDecision[]>;

  /** Everything of a session as plain JSON: messages, what it shows, bytes. */
  export(who: Asker, id: string): Promise<SessionExport | undefined>;
  /** What `export` gave, as the same session. A session with that id is not touched: `invalid_input`. */
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

/** The session layer over a store. It keeps nothing in memory: make as many as you like. */
export function createSessions(options: SessionsOptions): Sessions {
  const { store, scope = {}, profile = "main", clock = systemClock, reset = DEFAULT_RESET } = options;
  const given = options.zone === undefined ? undefined : assertZone(options.zone);
  const settings: RoutingSettings = {
    profile,
    reset,
    scope,
    clock,
    // To find out takes a while, and whoever names every session by an id of their own never needs it.
    get zone() {
      return given ?? assertZone(systemZone());
    },
  };
  const newId = (): string => generateSessionId(settings);
  const reshaped = async (
    who: Asker,
    id: string,
    change: WithoutAsker<ViewChange>,
  ): Promise<ViewChangeResult> => {
    const ask = { asker: who, session: assertSessionId(id), now: clock.now() };
    return throwIfRefused(await store.messages.changeView({ ...change, ...ask }));
  };

  /** Makes a session under an id of our own; one that chance gave twice in a second is tried again. */
  const underFreeId = async (
    wanted: string | undefined,
    make: (id: string) => Promise<Session | Refused>,
  ): Promise<Session> => {
    for (;;) {
      const made = await make(assertSessionId(wanted ?? newId()));
      const isTaken = isRefused(made) && made.details?.field === "id";
      if (wanted !== undefined || !isTaken) return throwIfRefused(made);
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
    async create(who, { id: wanted, kind = "chat", title: raw, ...rest } = {}) {
      const title = raw === undefined ? undefined : cleanTitle(raw);
      const session = { ...rest, kind, owner: who.person, ...(title !== undefined && { title }) };
      return underFreeId(wanted, (id) =>
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
      return reshaped(who, id, { kind: "rewrite", messages, blobs });
    },
    undo: (who, id) => reshaped(who, id, { kind: "undo" }),
    redo: (who, id) => reshaped(who, id, { kind: "redo" }),
    rewind: (who, id, to) =>
      reshaped(who, id, { kind: "rewind", to: { session: to.session ?? id, seq: to.seq } }),
    async compress(who, id, summary, { keepLast = 0 } = {}) {
      const [message] = prepareMessages({ role: "note", text: summary, extra: { summary: true } }).messages;
      if (message === undefined) throw new PostriderError("internal", "A summary became no message.");
      return reshaped(who, id, { kind: "compress", summary: message, keepLast });
    },
    versions: (who, id) => store.messages.listVersions({ asker: who, session: id }),
    restore: (who, id, version) => reshaped(who, id, { kind: "restore", version }),
    async fork(who, origin, { keep, id: wanted, title: raw, ...rest } = {}) {
      const title = raw === undefined ? undefined : cleanTitle(raw);
      const ask = { asker: who, session: assertSessionId(origin), now: clock.now() };
      const copy = { ...rest, ...(title !== undefined && { title }) };
      const upTo = keep === undefined ? {} : { keep };
      return underFreeId(wanted, (id) =>
        store.sessions.fork({ ...ask, ...upTo, newSession: { ...copy, id } }),
      );
    },
    async recordUsage(who, id, usage, { purpose = "answer" } = {}) {
      const ask = { asker: who, session: assertSessionId(id) };
      return throwIfRefused(await store.sessions.recordUsage({ ...ask, purpose, usage, now: clock.now() }));
    },
    usageEntries: (who, id) => store.sessions.listUsageEntries({ asker: who, session: id }),

    async reset(who, conversation) {
      const newSession = { id: newId(), kind: "chat" as const };
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

/** A length of time: a date in the future would prune what is in use. */
function checkLength(value: number, field: string): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw new PostriderError("invalid_input", `${field} must be a number, zero or more.`, {
    details: { field },
  });
}

type WithoutAsker<T> = T extends unknown ? Omit<T, "asker" | "session" | "now"> : never;
