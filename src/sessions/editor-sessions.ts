import { PostriderError } from "../core/errors.ts";
import type { Page } from "../core/listing.ts";
import type { Message } from "../core/message.ts";
import { OWNER, type PersonId } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Clock } from "../ports/clock.ts";
import { systemClock } from "../system/system-clock.ts";
import type { MessageInput } from "./message-input.ts";
import { savePoints } from "./save-points.ts";
import type { Sessions } from "./sessions.ts";
import { type EditorCreate, storedEditorSessions } from "./stored-editor-sessions.ts";

/** An editor session that is open in this process. */
export interface EditorSession<Agent> {
  readonly id: string;
  readonly cwd: string;
  readonly model?: string;
  /** Absent if `makeAgent` failed. The session is not affected, and the next `get` tries again. */
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
  /** Makes the agent of a new or restored session. If it fails, the session is not affected. */
  readonly makeAgent: (session: Session) => Promise<Agent> | Agent;
  readonly person?: PersonId;
  readonly clock?: Clock;
}

/** Sessions of an editor: each has a UUID, a folder and an agent, and never resets. */
export interface EditorSessions<Agent> {
  create(options: EditorCreate): Promise<EditorSession<Agent>>;
  /** The same object while it is open; restored after a restart. `undefined` for other kinds of sessions. */
  get(id: string): Promise<EditorSession<Agent> | undefined>;
  history(id: string): Promise<readonly Message[] | undefined>;
  /**
   * Stores the whole conversation of the agent in one commit. Writes only new messages, and reads stored ones only if another
   * process wrote. If the two differ, the session shows the new messages and keeps the old ones. Messages are values: to
   * change an earlier one, pass another object.
   */
  save(id: string, conversation: readonly MessageInput[]): Promise<void>;
  fork(id: string, options?: Partial<EditorCreate>): Promise<EditorSession<Agent> | undefined>;
  updateCwd(id: string, cwd: string): Promise<EditorSession<Agent> | undefined>;
  /** Changes the model and makes a new agent. */
  updateModel(id: string, model: string, provider?: string): Promise<EditorSession<Agent> | undefined>;
  list(query?: {
    readonly cwd?: string;
    readonly cursor?: string;
    readonly limit?: number;
  }): Promise<Page<EditorListed>>;
  /** True when there was one. */
  remove(id: string): Promise<boolean>;
  /** Removes only the sessions that were created through this object. Returns how many. */
  cleanup(): Promise<number>;
}

/**
 * For a program that keeps an agent per session and the conversation in its own memory. `postrider acp` shares only the
 * stored half: its turns write each message ahead, so it needs neither agents per session nor save points.
 */
export function editorSessions<Agent>(options: EditorOptions<Agent>): EditorSessions<Agent> {
  const { sessions, makeAgent, person = OWNER, clock = systemClock } = options;
  const who = { person };
  const stored = storedEditorSessions({ sessions, person, clock });
  const points = savePoints(sessions, who);
  const open = new Map<string, EditorSession<Agent>>();
  const opening = new Map<string, Promise<EditorSession<Agent>>>();
  const created = new Set<string>();

  /** Makes the agent of the session. When several are made at once for one session, the last one stays. */
  function openSession(session: Session): Promise<EditorSession<Agent>> {
    const { id } = session;
    const making = buildAgent(session, makeAgent).then((editor) => {
      if (opening.get(id) === making) {
        opening.delete(id);
        open.set(id, editor);
      }
      return editor;
    });
    opening.set(id, making);
    return making;
  }

  function openCreated(session: Session): Promise<EditorSession<Agent>> {
    created.add(session.id);
    return openSession(session);
  }

  async function toListed(session: Session): Promise<EditorListed> {
    return {
      id: session.id,
      handle: session.handle,
      cwd: session.cwd ?? ".",
      ...(session.usage.model !== undefined && { model: session.usage.model }),
      ...(session.title !== undefined && { title: session.title }),
      historyLength: (await sessions.shownLength(who, session.id)) ?? 0,
      updatedAt: session.lastAt,
    };
  }

  const editor: EditorSessions<Agent> = {
    create: async (create) => openCreated(await stored.create(create)),
    async get(id) {
      const here = open.get(id);
      if (here !== undefined && here.agentError === undefined) return opening.get(id) ?? here;
      const session = opening.has(id) ? undefined : await stored.find(id);
      return opening.get(id) ?? (session && openSession(session));
    },
    async history(id) {
      return (await stored.find(id)) === undefined ? undefined : sessions.history(who, id);
    },
    async save(id, conversation) {
      const now = [...conversation]; // the agent continues to add to its own list
      if ((await stored.find(id)) === undefined)
        throw new PostriderError("not_found", "There is no such session.");
      await points.save(id, now);
    },
    async fork(id, changes) {
      const session = await stored.fork(id, changes);
      return session && openCreated(session);
    },
    async updateCwd(id, cwd) {
      if ((await stored.change(id, { cwd })) === undefined) return undefined;
      const here = await editor.get(id);
      if (here === undefined) return undefined;
      const moved = { ...here, cwd };
      open.set(id, moved);
      return moved;
    },
    async updateModel(id, model, provider) {
      const session = await stored.change(id, { model, ...(provider !== undefined && { provider }) });
      return session && openSession(session);
    },
    async list(query) {
      const { items, ...rest } = await stored.list(query);
      return { ...rest, items: await Promise.all(items.map(toListed)) };
    },
    async remove(id) {
      const removed = await stored.remove(id);
      if (!removed) return false;
      for (const known of [open, opening, created]) known.delete(id);
      points.forget(id);
      return true;
    },
    async cleanup() {
      let count = 0;
      for (const id of [...created]) if (await editor.remove(id)) count += 1;
      return count;
    },
  };
  return editor;
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
