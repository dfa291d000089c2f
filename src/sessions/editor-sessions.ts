import { isDeepStrictEqual } from "node:util";
import { PostriderError } from "../core/errors.ts";
import { uuidFrom } from "../core/ids.ts";
import type { Page } from "../core/listing.ts";
import type { Message } from "../core/message.ts";
import { OWNER, type PersonId } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Clock } from "../ports/clock.ts";
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
   * A save point: the whole conversation as the agent has it now. What is stored already is not written again;
   * where the two part ways, the new course is shown and the old one kept. One commit, whatever the length.
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
  const made = new Set<string>();
  const newId = (): string => uuidFrom(clock.random(16));

  /** The stored session, if it is an editor's. */
  async function stored(id: string): Promise<Session | undefined> {
    const found = await sessions.find(who, id);
    return found?.id === id && found.kind === "editor" ? found : undefined;
  }

  async function hold(session: Session): Promise<EditorSession<Agent>> {
    const base = {
      id: session.id,
      cwd: session.cwd ?? ".",
      ...(session.usage.model !== undefined && { model: session.usage.model }),
    };
    let editor: EditorSession<Agent>;
    try {
      editor = { ...base, agent: await makeAgent(session) };
    } catch (cause) {
      const agentError = new PostriderError(
        "agent_failed",
        "The agent of this session could not be started.",
        { cause },
      );
      editor = { ...base, agentError };
    }
    held.set(session.id, editor);
    return editor;
  }

  async function changed(
    id: string,
    change: Parameters<Sessions["change"]>[2],
  ): Promise<Session | undefined> {
    if ((await stored(id)) === undefined) return undefined;
    return sessions.change(who, id, change);
  }

  const face: EditorSessions<Agent> = {
    async create(wanted) {
      const session = await sessions.create(who, { ...wanted, id: newId(), kind: "editor" });
      made.add(session.id);
      return hold(session);
    },
    async get(id) {
      const here = held.get(id);
      if (here?.agent !== undefined) return here;
      const session = await stored(id);
      return session === undefined ? undefined : hold(session);
    },
    async history(id) {
      return (await stored(id)) === undefined ? undefined : sessions.history(who, id);
    },
    async save(id, conversation) {
      const before = await face.history(id);
      if (before === undefined) throw new PostriderError("not_found", "There is no such session.");
      const common =
        before.length <= conversation.length &&
        before.every((message, at) => same(message, conversation[at]));
      if (!common) await sessions.rewrite(who, id, conversation);
      else if (conversation.length > before.length)
        await sessions.append(who, id, conversation.slice(before.length));
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
      const here = held.get(id);
      if (here?.agent === undefined) return hold(session);
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
            historyLength: await sessions.shownLength(who, session.id),
            updatedAt: session.lastAt,
          }),
        ),
      );
      return { items, ...(page.cursor !== undefined && { cursor: page.cursor }) };
    },
    async remove(id) {
      if ((await stored(id)) === undefined) return false;
      held.delete(id);
      made.delete(id);
      return sessions.remove(who, id);
    },
    async cleanup() {
      let count = 0;
      for (const id of [...made]) if (await face.remove(id)) count += 1;
      return count;
    },
  };
  return face;
}

/** Whether a stored message is this one. Only what the caller gives is compared: time and place are the store's. */
function same(stored: Message, given: MessageInput | undefined): boolean {
  if (given === undefined) return false;
  const [ready] = readyMessages(given).messages;
  if (ready === undefined) return false;
  const { session: _session, seq: _seq, at, ...rest } = stored;
  const { at: givenAt = at, ...wanted } = ready;
  return at === givenAt && isDeepStrictEqual(rest, wanted);
}
