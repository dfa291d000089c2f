/** One of several processes that write to the same file, or one that only listens to their changes. */
import module from "node:module";
import {
  buildRouting,
  createSessions,
  localRunner,
  OWNER,
  PostriderError,
  sqliteStore,
  throwIfRefused,
} from "../../src/index.ts";
import { endWithParent, say, told } from "../support/child.ts";
import { instant } from "../support/numbers.ts";
import { settings } from "../support/routing.ts";
import { ACCEPTING_CHATS, END, SHARED_SESSIONS, sharedSession } from "./shared.ts";

export interface Order {
  readonly from: number;
  readonly until: number;
}

export type Answer =
  | { readonly said: "ready" }
  | ({ readonly said: "worked" } & Worked)
  | ({ readonly said: "listened" } & Listened);

/** The acknowledged operations of this process. */
export interface Worked {
  readonly operations: number;
  /** Appended messages by session, each append as the texts it wrote. */
  readonly appended: readonly (readonly [session: string, ...texts: readonly string[]])[];
  /** When each append to the first shared session was acknowledged, by its first text. */
  readonly acknowledged: readonly (readonly [text: string, at: number])[];
  /** The session of each chat, in the order of chats. */
  readonly opened: readonly string[];
  /** Whether each message was new, in the order of messages. */
  readonly accepted: readonly boolean[];
  readonly answered: readonly string[];
  readonly errors: readonly string[];
}

export interface Listened {
  readonly seen: readonly (readonly [text: string, at: number])[];
  readonly calls: number;
}

module.enableCompileCache();
const [file = "", role = ""] = process.argv.slice(2);
const who = { person: OWNER };
const store = await sqliteStore({ file });
const sessions = createSessions({ store, zone: settings.zone, reset: settings.reset });
if (role === "listener") {
  endWithParent();
  say((await listen()) satisfies Answer);
} else {
  say({ said: "ready" } satisfies Answer);
  for await (const order of told<Order>()) {
    say((await work(order)) satisfies Answer);
    break;
  }
}
await store.close();
process.exit(0);

/** All messages of the first shared session, with their arrival time here. */
async function listen(): Promise<Answer> {
  let calls = 0;
  store.onChange(() => {
    calls += 1;
  });
  say({ said: "ready" } satisfies Answer);
  const seen: [string, number][] = [];
  for await (const { parts } of sessions.follow(who, sharedSession(0), { after: 0 })) {
    const text = parts[0]?.type === "text" ? parts[0].text : "";
    if (text === END) break;
    seen.push([text, instant()]);
  }
  return { said: "listened", seen, calls };
}

async function work({ from, until }: Order): Promise<Answer> {
  const appended: [session: string, ...texts: string[]][] = [];
  const acknowledged: [string, number][] = [];
  const opened: string[] = [];
  const accepted: boolean[] = [];
  const answered: string[] = [];
  const errors: string[] = [];
  let operations = 0;
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  const own = `own-${role}`;
  await sessions.create(who, { id: own });
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, from - instant())));

  /** Runs operations one after another until the time is over. */
  async function loop(step: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0; instant() < until; n += 1) {
      try {
        await step(n);
        operations += 1;
      } catch (error) {
        errors.push(error instanceof PostriderError ? `${error.code}: ${error.message}` : String(error));
      }
    }
  }
  async function append(session: string, ...texts: string[]): Promise<void> {
    await sessions.append(
      who,
      session,
      texts.map((text) => ({ role: "user", text })),
    );
    if (session === sharedSession(0)) acknowledged.push([texts[0] ?? "", instant()]);
    appended.push([session, ...texts]);
  }
  async function accept(n: number): Promise<void> {
    const chat = `talk-${n % ACCEPTING_CHATS}`;
    const claim = { runner: runner.id, take: "one" } as const;
    const result = await store.inbox.accept({
      ...buildRouting({ platform: "telegram", chatId: chat, userId: chat }, settings),
      messageId: `message ${n}`,
      message: { role: "user", parts: [{ type: "text", text: `message ${n}` }] },
      claim,
    });
    accepted.push(!result.duplicate);
    let turn = "turn" in result ? result.turn : undefined;
    // The process that finishes a turn claims the pending messages of all processes.
    while (turn !== undefined) {
      const text = `answer ${turn.number}`;
      const finished = throwIfRefused(
        await store.turns.finish({
          turn: turn.number,
          fence: turn.fence,
          outcome: "done",
          messages: [{ role: "assistant", parts: [{ type: "text", text }] }],
          next: claim,
          now: Date.now(),
        }),
      );
      answered.push(text);
      turn = finished.next;
    }
  }
  await Promise.all([
    loop((n) => append(own, `${role} own ${n}`)),
    loop((n) => append(sharedSession(n % SHARED_SESSIONS), `${role} shared ${n} 1`, `${role} shared ${n} 2`)),
    loop(async (n) => {
      const chat = `chat-${n}`;
      opened.push((await sessions.open({ platform: "telegram", chatId: chat, userId: chat })).session.id);
    }),
    loop(accept),
  ]);
  await store.runners.retire({ runner: runner.id });
  return { said: "worked", operations, appended, acknowledged, opened, accepted, answered, errors };
}
