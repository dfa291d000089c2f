import type { Opened } from "../../../core/conversation.ts";
import { PostriderError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/owner.ts";
import { policyFor } from "../../../core/reset-policy.ts";
import { HEARTBEAT_MS, RUNNER_DEAD_MS } from "../../../core/runner.ts";
import type { Session } from "../../../core/session.ts";
import { localSource } from "../../../core/source.ts";
import type { Place } from "../../../gateway/commands/command.ts";
import { openTalk, type TalkEvent } from "../../../gateway/talk.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Store } from "../../../ports/store.ts";
import { DEFAULT_RESET } from "../../../sessions/routing.ts";
import { sessionNamed } from "../../../sessions/session-named.ts";
import { createSessions } from "../../../sessions/sessions.ts";
import { systemClock, systemZone } from "../../../sessions/system-clock.ts";
import { localRunner } from "../../../stores/sqlite/runners.ts";
import { sqliteStore } from "../../../stores/sqlite/store.ts";
import type { Home } from "../../home.ts";
import { holdPlace, type PlaceKind } from "./place.ts";

export interface Chat {
  readonly place: Place;
  readonly store: Store;
  readonly runner: string;
  /** Stops what is being answered, lets go of everything. */
  close(): Promise<void>;
}

export interface ChatOptions {
  readonly home: Home;
  readonly agent: Agent;
  /** A pipe shares the first terminal's conversation; the others have their own. */
  readonly kind: PlaceKind | "pipe";
  heard(event: TalkEvent): void;
  notice(text: string): void;
}

/** Everything that talking takes: the store, a runner that is known to be alive, and a place to talk in. */
export async function startChat({ home, agent, kind, heard, notice }: ChatOptions): Promise<Chat> {
  const mode = kind === "query" ? "in-process" : "workers";
  const store = await sqliteStore({ file: home.database, mode });
  const runner = localRunner();
  await store.beat({ runner, now: Date.now() });
  const held = kind === "pipe" ? undefined : await holdPlace(store, runner.id, kind, RUNNER_DEAD_MS);
  const heart = setInterval(() => {
    Promise.all([store.beat({ runner, now: Date.now() }), held?.keep()]).catch((error: Error) =>
      notice(error.message),
    );
  }, HEARTBEAT_MS);
  const source = held?.source ?? localSource();
  const zone = systemZone();
  const settings = { zone, profile: "main", reset: DEFAULT_RESET, scope: {}, clock: systemClock };
  const talk = openTalk({ store, agent, runner: runner.id, source, settings, heard });
  return {
    store,
    runner: runner.id,
    place: {
      sessions: createSessions({ store, zone }),
      store,
      talk,
      who: { person: OWNER },
      agent: agent.name,
      policy: policyFor(settings.reset, source.platform, source.chatType),
      zone,
      now: () => Date.now(),
    },
    async close() {
      clearInterval(heart);
      try {
        while (await talk.stop()) {}
        await held?.release();
        await store.retire({ runner: runner.id });
      } finally {
        await store.close();
      }
    },
  };
}

/** Where to talk: where the place was, in the newest session, in a named one, or in a new one. */
export type Beginning = "here" | "newest" | "new" | { readonly session: string };

/** Opens the place's conversation there. */
export async function begin(place: Place, beginning: Beginning): Promise<Opened> {
  const opened = await place.talk.open();
  if (beginning === "here") return opened;
  const { number } = opened.conversation;
  if (beginning === "new") {
    return opened.session.messageCount === 0 ? opened : place.sessions.reset(place.who, number);
  }
  const session = beginning === "newest" ? await newest(place) : await wanted(place, beginning.session);
  const switched = await place.sessions.switchTo(place.who, number, session.id);
  if (switched === undefined) throw new PostriderError("not_found", "That session has just been removed.");
  return switched;
}

async function newest({ sessions, who }: Place): Promise<Session> {
  const { items } = await sessions.list(who, { kinds: ["chat", "editor"], limit: 20 });
  const found = items.find(({ messageCount }) => messageCount > 0);
  if (found !== undefined) return found;
  throw new PostriderError("not_found", "There is no session to go on with yet. Start with postrider alone.");
}

async function wanted({ store, who }: Place, text: string): Promise<Session> {
  const { session, candidates } = await sessionNamed(store, who, text);
  if (session !== undefined) return session;
  if (candidates.length === 0) {
    const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw new PostriderError(
      "not_found",
      `There is no session "${shown}". postrider sessions list shows what there is.`,
      { details: { session: text } },
    );
  }
  throw new PostriderError(
    "ambiguous",
    `That could be ${candidates.length} sessions. Write more of the id:`,
    {
      details: {
        candidates: candidates.map(({ id, handle, title }) => ({ id, handle, title: title ?? null })),
      },
    },
  );
}
