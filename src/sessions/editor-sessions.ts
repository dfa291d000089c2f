import { PostriderError } from "../core/errors.ts";
import { uuidFrom } from "../core/ids.ts";
import type { Page } from "../core/listing.ts";
import type { Message } from "../core/message.ts";
import { OWNER, type PersonId } from "../core/owner.ts";
import type { Session, SessionChange } from "../core/session.ts";
import type { Clock } from "../ports/clock.ts";
import { systemClock } from "../system/system-clock.ts";
import type { MessageInput } from "./message-input.ts";
import { savePoints } from "./save-points.ts";
import type { Sessions } from "./sessions.ts";

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
  const points = savePoints(sessions, who);
  const newId = (): string => uuidFrom(clock.random(16));

  /** The stored session, if it is an editor's. */
  async function stored(id: string): Promise<Session | undefined> {
    const found = await sessions.get(who, id);
    return found?.kind === "editor" ? found : undefined;
  }

  /** Holds the session with an agent made for it. Of several made at once for one session, the last is kept. */
  function hold(session: Session): Promise<EditorSession<Agent>> {
    const { id } = session;
    const made = buildAgent(session, makeAgent).then((editor) => {
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

  const face: EditorSessions<Agent> = {
    async create(wanted) {
      const session = await sessions.create(who, { ...wanted, id: newId(), kind: "editor" });
      made.add(session.id);
      return hold(session);
    },
    async get(id) {
      const here = held.get(id);
      if (here !== undefined && here.agentError === undefined) return making.get(id) ?? here;
      const session = making.has(id) ? undefined : await stored(id);
      return making.get(id) ?? (session && hold(session));
    },
    async history(id) {
      return (await stored(id)) === undefined ? undefined : sessions.history(who, id);
    },
    async save(id, conversation) {
      const now = [...conversation]; // the agent goes on adding to its own
      if ((await stored(id)) === undefined)
        throw new PostriderError("not_found", "There is no such session.");
      await points.save(id, now);
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
      for (const kept of [held, making, made]) kept.delete(id);
      points.forget(id);
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

async function buildAgent<Agent>(
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
