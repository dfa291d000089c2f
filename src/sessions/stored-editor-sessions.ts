import { uuidFrom } from "../core/ids.ts";
import type { ListedSession, Page } from "../core/listing.ts";
import type { PersonId } from "../core/owner.ts";
import type { Session, SessionChange } from "../core/session.ts";
import type { Clock } from "../ports/clock.ts";
import type { Sessions } from "./sessions.ts";

export interface EditorCreate {
  readonly cwd: string;
  readonly model?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
  /** Data that makes the same agent again after a restart, even when defaults have changed. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/**
 * The stored sessions of a person's editors, by exact UUID. `editorSessions` and `postrider acp` share them. Other kinds
 * of sessions do not exist here, unless `allKinds` is set.
 */
export interface StoredEditorSessions {
  find(id: string): Promise<Session | undefined>;
  create(options: EditorCreate): Promise<Session>;
  fork(id: string, options?: Partial<EditorCreate>): Promise<Session | undefined>;
  change(id: string, change: SessionChange): Promise<Session | undefined>;
  /** Newest first. */
  list(query?: EditorListQuery): Promise<Page<ListedSession>>;
  /** True when there was one. */
  remove(id: string): Promise<boolean>;
}

export interface EditorListQuery {
  readonly cwd?: string;
  readonly cursor?: string;
  readonly limit?: number;
  /** Only sessions with messages, or only those without. */
  readonly used?: boolean;
}

export interface StoredEditorOptions {
  readonly sessions: Sessions;
  readonly person: PersonId;
  readonly clock: Pick<Clock, "random">;
  readonly allKinds?: boolean;
}

export function storedEditorSessions(options: StoredEditorOptions): StoredEditorSessions {
  const { sessions, person, clock, allKinds = false } = options;
  const who = { person };
  const kind = "editor";
  const createId = (): string => uuidFrom(clock.random(16));

  async function find(id: string): Promise<Session | undefined> {
    const session = await sessions.get(who, id);
    return allKinds || session?.kind === kind ? session : undefined;
  }
  const has = async (id: string): Promise<boolean> => (await find(id)) !== undefined;

  return {
    find,
    create: (create) => sessions.create(who, { ...create, id: createId(), kind }),
    fork: async (id, changes = {}) =>
      (await has(id)) ? sessions.fork(who, id, { ...changes, id: createId(), kind }) : undefined,
    change: async (id, change) => ((await has(id)) ? sessions.change(who, id, change) : undefined),
    list: (query = {}) => sessions.list(who, { ...query, ...(!allKinds && { kinds: [kind] }) }),
    remove: async (id) => (await has(id)) && sessions.remove(who, id),
  };
}
