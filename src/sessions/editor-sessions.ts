import { isDeepStrictEqual } from "node:util";
import { PostriderError } from "../core/errors.ts";
import { uuidFrom } from "../core/ids.ts";
import type { Page } from "../core/listing.ts";
import type { Message } from "../core/message.ts";
import { OWNER, type PersonId } from "../core/owner.ts";
import type { Session, SessionChange } from "../core/session.ts";
import type { Clock } from "../ports/clock.ts";
import type { Shape } from "../ports/store.ts";
import { type MessageInput, readyMessages } from "./message-input.ts";
import type { Sessions } from "./sessions.ts";
import { systemClock } from "./system-clock.ts";

/** An editor's session as this process holds it. */
export interface EditorSession<Agent> {
  readonly id: string;
  readonly cwd: string;
  readonly model?: string;
  /** Absent when it could not be made; the session is whole all the same, and `get` tries again. */
  readonly agent?: Agent;
  readonly agentError?: PostriderError;
}

export interface EditorListed {
  readonly id: string;
  readonly handle: string;
  readonly cwd: string;
  readonly model?: string;
  readonly title?: string;
  readonly historyLength: number;
  readonly updatedAt: number;
}

export interface EditorOptions<Agent> {
  readonly sessions: Sessions;
  /** Makes the agent of a session, at first or after a restart. It may fail: nothing of the session is lost. */
  readonly makeAgent: (session: Session) => Promise<Agent> | Agent;
  readonly person?: PersonId;
  readonly clock?: Clock;
}

/** Sessions as an editor uses them: addressed by UUID, each with a folder and an agent, never reset. */
export interface EditorSessions<Agent> {
  create(options: EditorCreate): Promise<EditorSession<Agent>>;
  /** The same object while this process has it; after a restart it is restored. Other kinds of sessions: `undefined`. */
  get(id: string): Promise<EditorSession<Agent> | undefined>;
  history(id: string): Promise<readonly Message[] | undefined>;
  /**
   * A save point: the whole conversation as the agent has it now. What is stored already is not written again,
   * nor read again while nobody else has written; where the two part ways, the new course is shown and the old
   * one kept. One commit, whatever the length. Messages are values: to change an earlier one, give another object.
   */
  save(id: string, conversation: readonly MessageInput[]): Promise<void>;
  fork(id: string, options?: Partial<EditorCreate>): Promise<EditorSession<Agent> | undefined>;
  updateCwd(id: string, cwd: string): Promise<EditorSession<Agent> | undefined>;
  /** Another model for this session: a new agent is made. */
  updateModel(id: string, model: string, provider?: string): Promise<EditorSession<Agent> | undefined>;
  list(query?: {
    readonly cwd?: string;
    readonly cursor?: string;
    readonly limit?: number;
  }): Promise<Page<EditorListed>>;
  /** True when there was one. */
  remove(id: string): Promise<boolean>;
  /** Removes the sessions that were made through this object, and no others. Returns how many. */
  cleanup(): Promise<number>;
}

export interface EditorCreate {
  readonly cwd: string;
  readonly model?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
  /** Whatever the agent needs to be made the same again, even when defaults have changed. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export function editorSessions<Agent>(options: EditorOptions<Agent>): EditorSessions<Agent> {
  const { sessions, makeAgent, person = OWNER, clock = systemClock } = options;
  const who = { person };
  const held = new Map<string, EditorSession<Agent>>();
  const making = new Map<string, Promise<EditorSession<Agent>>>();
  const made = new Set<string>();
  const savings = new Map<string, Saving>();
  const newId = (): string => uuidFrom(clock.random(16));

  /** The stored session, if it is an editor's. */
  async function stored(id: string): Promise<Session | undefined> {
    const found = await sessions.get(who, id);
    return found?.kind === "editor" ? found : undefined;
  }

  /** Holds the session with an agent made for it. Of several made at once for one session, the last is kept. */
  function hold(session: Session): Promise<EditorSession<Agent>> {
    const { id } = session;
    const made = withAgent(session, makeAgent).then((editor) => {
      if (making.get(id) === made) {
        making.delete(id);
        held.set(id, editor);
      }
      return editor;
    });
    making.set(id, made);
    return made;
  }

  async function changed(id: string, change: SessionChange): Promise<Session | undefined> {
    return (await stored(id)) === undefined ? undefined : sessions.change(who, id, change);
  }

  /** How much of the conversation the session shows already; `undefined` where the two part ways. */
  async function savedLength(id: string, conversation: readonly MessageInput[]): Promise<number | undefined> {
    const last = savings.get(id)?.last;
    const shape = await sessions.shape(who, id);
    if (last !== undefined && isDeepStrictEqual(last.shape, shape) && goesOn(last, conversation))
      return last.given.length;
    const shown = (await sessions.history(who, id)) ?? [];
    return shown.every((message, at) => isStored(message, conversation[at])) ? shown.length : undefined;
  }

  async function save(id: string, saving: Saving, conversation: readonly MessageInput[]): Promise<void> {
    if ((await stored(id)) === undefined) throw new PostriderError("not_found", "There is no such session.");
    const length = await savedLength(id, conversation);
    delete saving.last;
    if (length === undefined) await sessions.rewrite(who, id, conversation);
    else if (length < conversation.length) await sessions.append(who, id, conversation.slice(length));
    const shape = await sessions.shape(who, id);
    // Somebody else wrote in between: the next save looks at all of it again.
    if (shape === undefined || lengthOf(shape) !== conversation.length) return;
    saving.last = { shape, given: [...conversation], newest: structuredClone(conversation.at(-1)) };
  }

  const face: EditorSessions<Agent> = {
    async create(wanted) {
      const session = await sessions.create(who, { ...wanted, id: newId(), kind: "editor" });
      made.add(session.id);
      return hold(session);
    },
    async get(id) {
      const here = held.get(id);
      if (here?.agent !== undefined) return making.get(id) ?? here;
      const session = making.has(id) ? undefined : await stored(id);
      return making.get(id) ?? (session && hold(session));
    },
    async history(id) {
      return (await stored(id)) === undefined ? undefined : sessions.history(who, id);
    },
    save(id, conversation) {
      const saving: Saving = savings.get(id) ?? { done: Promise.resolve() };
      savings.set(id, saving);
      // One after the other: two at once would both add what is new.
      const saved = saving.done.then(() => save(id, saving, conversation));
      saving.done = saved.catch(() => {});
      return saved;
    },
    async fork(id, wanted = {}) {
      if ((await stored(id)) === undefined) return undefined;
      const session = await sessions.fork(who, id, { ...wanted, id: newId(), kind: "editor" });
      made.add(session.id);
      return hold(session);
    },
    async updateCwd(id, cwd) {
      const session = await changed(id, { cwd });
      if (session === undefined) return undefined;
      const here = await face.get(id);
      if (here === undefined) return undefined;
      const moved = { ...here, cwd };
      held.set(id, moved);
      return moved;
    },
    async updateModel(id, model, provider) {
      const session = await changed(id, { model, ...(provider !== undefined && { provider }) });
      return session === undefined ? undefined : hold(session);
    },
    async list(query = {}) {
      const page = await sessions.list(who, { ...query, kinds: ["editor"] });
      const items = await Promise.all(
        page.items.map(
          async (session): Promise<EditorListed> => ({
            id: session.id,
            handle: session.handle,
            cwd: session.cwd ?? ".",
            ...(session.usage.model !== undefined && { model: session.usage.model }),
            ...(session.title !== undefined && { title: session.title }),
            historyLength: (await sessions.shownLength(who, session.id)) ?? 0,
            updatedAt: session.lastAt,
          }),
        ),
      );
      return { items, ...(page.cursor !== undefined && { cursor: page.cursor }) };
    },
    async remove(id) {
      if ((await stored(id)) === undefined) return false;
      const removed = await sessions.remove(who, id);
      for (const kept of [held, making, made, savings]) kept.delete(id);
      return removed;
    },
    async cleanup() {
      let count = 0;
      for (const id of [...made]) if (await face.remove(id)) count += 1;
      return count;
    },
  };
  return face;
}

async function withAgent<Agent>(
  session: Session,
  makeAgent: EditorOptions<Agent>["makeAgent"],
): Promise<EditorSession<Agent>> {
  const base = {
    id: session.id,
    cwd: session.cwd ?? ".",
    ...(session.usage.model !== undefined && { model: session.usage.model }),
  };
  try {
    return { ...base, agent: await makeAgent(session) };
  } catch (cause) {
    const sentence = "The agent of this session could not be started.";
    return { ...base, agentError: new PostriderError("agent_failed", sentence, { cause }) };
  }
}

/** A session's save points: the one under way, and what the last one left. */
interface Saving {
  done: Promise<void>;
  last?: Saved;
}

interface Saved {
  /** What the session showed then. */
  readonly shape: Shape;
  readonly given: readonly MessageInput[];
  /** A copy: an agent may go on writing into its newest message. */
  readonly newest: MessageInput | undefined;
}

/** Whether the conversation begins with what was saved last. Nothing is read for it. */
function goesOn({ given, newest }: Saved, conversation: readonly MessageInput[]): boolean {
  if (conversation.length < given.length) return false;
  const unchanged = given.every((message, at) => {
    const now = conversation[at];
    return message === now || isDeepStrictEqual(message, now);
  });
  return unchanged && isDeepStrictEqual(newest, conversation[given.length - 1]);
}

/** Whether a stored message is this one. Only what the caller gives is compared: time and place are the store's. */
function isStored(stored: Message, given: MessageInput | undefined): boolean {
  if (given === undefined) return false;
  const [ready] = readyMessages(given).messages;
  if (ready === undefined) return false;
  const { session: _session, seq: _seq, at, ...rest } = stored;
  const { at: givenAt = at, ...wanted } = ready;
  return at === givenAt && isDeepStrictEqual(rest, wanted);
}

function lengthOf({ pieces }: Shape): number {
  return pieces.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0);
}
