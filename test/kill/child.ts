/**
 * Uses the library until it is killed: several concurrent loops, each with its own sessions. Prints each operation before
 * it starts and after it was acknowledged. A full disk refuses operations; the process continues.
 */
import module from "node:module";
import {
  buildRouting,
  createSessions,
  localRunner,
  type MessageInput,
  OWNER,
  PostriderError,
  sqliteStore,
  type Turn,
  throwIfRefused,
} from "../../src/index.ts";
import { openWriter } from "../../src/stores/sqlite/connection.ts";
import { say, told } from "../support/child.ts";
import { seeded } from "../support/random.ts";
import { settings } from "../support/routing.ts";
import { type Begun, type Line, type Result, type Told, textsOf } from "./journal.ts";

module.enableCompileCache();
const [file = "", mode = "", round = "", seed = "", loops = "", pauseMs = "0"] = process.argv.slice(2);
const tell = (line: Line): void => say(line);
const everyone = { everyone: true } as const;
/** With more view changes, the oldest version would be deleted, which a checker cannot distinguish from a loss. */
const MAX_VERSIONS = 40;
/** The delay before a retry on a full disk. */
const FULL_PAUSE_MS = 4;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Owned {
  readonly id: string;
  /** Set when a conversation points to it. */
  readonly chat?: string;
  versions: number;
}

tell({ say: "ready" });
let stopping = false;
const orders = told<Told>();
const first = (await orders.next()).value as Told | undefined;
const { maxBytes, keeps = false } = first?.do === "go" ? first : {};
void (async () => {
  for await (const _stop of orders) stopping = true;
  stopping = true;
})();

/** Retries the attempt until there is space. */
async function withRoom<T>(attempt: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof PostriderError) || error.code !== "disk_full") throw error;
      tell({ say: "no room" });
      await pause(FULL_PAUSE_MS);
    }
  }
}

const store = await withRoom(() =>
  sqliteStore({
    file,
    mode: mode === "in-process" ? mode : "workers",
    ...(maxBytes !== undefined && { maxBytes }),
    onLost({ message, details }) {
      tell({ say: "lost", error: message, ...details });
      process.exit(6);
    },
  }),
);
const sessions = createSessions({ store, zone: settings.zone, reset: settings.reset });
const runner = localRunner();
await withRoom(() => store.runners.recordHeartbeat({ runner, now: Date.now() }));
const claim = { runner: runner.id, take: "one" } as const;
const sameOptions = await withRoom(() => openWriter({ file }));
tell({ say: "open", synchronous: Number(sameOptions.pragma("synchronous")) });
sameOptions.close();

const REFUSALS: ReadonlySet<string> = new Set(["nothing_to_undo", "nothing_to_redo", "disk_full"]);
let numbers = 0;
let broken = false;
/** Runs one operation between its two lines. `undefined` if a rule refused it. */
async function operation<T>(
  begun: Omit<Begun, "key" | "count"> & { readonly count?: number },
  run: (key: string) => Promise<T>,
  result: (value: T) => Result = () => ({}),
): Promise<T | undefined> {
  numbers += 1;
  const key = `${round}-${numbers}`;
  tell({ say: "begin", count: 0, ...begun, key });
  try {
    const value = await run(key);
    tell({ say: "done", key, result: result(value) });
    return value;
  } catch (error) {
    const code = error instanceof PostriderError ? error.code : "";
    if (REFUSALS.has(code)) tell({ say: "refused", key, code });
    else {
      broken = true;
      tell({ say: "failed", key, error: `${begun.name}: ${code} ${error}` });
    }
    if (code === "disk_full") await pause(FULL_PAUSE_MS);
    return undefined;
  }
}

function messages(key: string, count: number): MessageInput[] {
  return textsOf(key, count).map((text, index) => ({ role: index % 2 === 0 ? "user" : "assistant", text }));
}

/** Finishes a started turn, later if the disk is full: its session is blocked until then. */
async function finish(turn: Turn): Promise<void> {
  while ((await finishOnce(turn)) === undefined && !broken);
}

/** The end of the turn, with its answer, its usage and a delivery in the same commit. */
function finishOnce(turn: Turn): Promise<unknown> {
  return operation({ name: "finish", session: turn.session, count: 2, turn: turn.number }, async (key) => {
    const answer = textsOf(key, 2).map((text) => ({ type: "text" as const, text }));
    return throwIfRefused(
      await store.turns.finish({
        turn: turn.number,
        fence: turn.fence,
        outcome: "done",
        messages: answer.map((part) => ({ role: "assistant", parts: [part] })),
        usage: { inputTokens: 1 },
        deliveries: [{ target: turn.target, parts: answer.slice(0, 1) }],
        now: Date.now(),
      }),
    );
  });
}

/** Takes over and finishes the turns of a killed process. */
async function recover(): Promise<void> {
  for (;;) {
    const left = await store.turns.listClaimable({ now: Date.now() });
    for (const { session } of left) {
      const turn = await operation({ name: "claim", session }, () =>
        store.turns.claim({ session, ...claim, now: Date.now() }),
      );
      if (turn !== undefined) await finish(turn);
    }
    if (left.length === 0 || broken) return;
  }
}

/** The sessions of each loop from earlier rounds. */
async function ownedByLoops(): Promise<Owned[][]> {
  const { items } = await sessions.list(everyone, { limit: 1000 });
  const owned: Owned[][] = Array.from({ length: Number(loops) }, () => []);
  for (const { id, origin } of items) {
    const chat = id.startsWith("w") ? undefined : origin?.chatId;
    const loop = Number((chat ?? id).slice(1).split("-")[0]);
    const versions = (await sessions.versions(everyone, id)).length;
    owned[loop]?.push(chat === undefined ? { id, versions } : { id, chat, versions });
  }
  return owned;
}

async function work(loop: number, owned: Owned[]): Promise<void> {
  const random = seeded(Number(seed) * 1000 + loop);
  const sourceOf = (chat: string) => ({ platform: "telegram", chatId: chat, userId: chat, userName: "Ann" });

  const steps: Record<string, (one: Owned) => Promise<unknown>> = {
    append({ id }) {
      const count = random.between(1, 5);
      return operation(
        { name: "append", session: id, count },
        (key) => sessions.append(everyone, id, messages(key, count)),
        (seqs) => ({ seqs }),
      );
    },
    async turn({ id, chat }) {
      if (chat === undefined) return;
      const accepted = await operation({ name: "accept", session: id, count: 1 }, (key) =>
        store.inbox.accept({
          ...buildRouting(sourceOf(chat), settings),
          messageId: key,
          message: { role: "user", parts: textsOf(key, 1).map((text) => ({ type: "text", text })) },
          cursor: { name: `loop ${loop}`, value: key },
          claim,
        }),
      );
      if (accepted !== undefined && "turn" in accepted && accepted.turn !== undefined)
        await finish(accepted.turn);
    },
    async undo(one) {
      if (one.versions++ > MAX_VERSIONS) return;
      await operation(
        { name: "undo", session: one.id },
        () => sessions.undo(everyone, one.id),
        ({ version }) => ({ version }),
      );
      if (random.next() < 0.5) await steps.redo?.(one);
    },
    async redo(one) {
      if (one.versions++ > MAX_VERSIONS) return;
      await operation(
        { name: "redo", session: one.id },
        () => sessions.redo(everyone, one.id),
        ({ version }) => ({ version }),
      );
    },
    async rewrite(one) {
      if (one.versions++ > MAX_VERSIONS) return;
      const count = random.between(2, 6);
      await operation(
        { name: "rewrite", session: one.id, count },
        (key) => sessions.rewrite(everyone, one.id, messages(key, count)),
        ({ version }) => ({ version }),
      );
    },
    async compress(one) {
      if (one.versions++ > MAX_VERSIONS) return;
      await operation(
        { name: "compress", session: one.id, count: 1 },
        (key) => sessions.compress(everyone, one.id, textsOf(key, 1).join(""), { keepLast: 3 }),
        ({ version }) => ({ version }),
      );
    },
    async fork({ id }) {
      await operation(
        { name: "fork", session: id },
        (key) => sessions.fork(everyone, id, { id: `w${loop}-${key}` }),
        (session) => ({ session: session.id }),
      ).then((made) => made && owned.push({ id: made.id, versions: 1 }));
    },
    title: ({ id }) =>
      operation({ name: "title", session: id }, (key) => sessions.title(everyone, id, `[${key}]`)),
    usage: ({ id }) =>
      operation({ name: "usage", session: id }, () => sessions.recordUsage(everyone, id, { inputTokens: 1 })),
    hold: ({ id }) =>
      operation({ name: "hold", session: id }, (key) => sessions.hold(everyone, id, `[${key}]`, 3_600_000)),
    async remove(one) {
      if (keeps || owned.length < 6) return;
      owned.splice(owned.indexOf(one), 1);
      const removed = await operation({ name: "remove", session: one.id }, () =>
        sessions.remove(everyone, one.id),
      );
      if (removed === undefined) owned.push(one);
    },
    async begin() {
      if (owned.length > 10) return;
      if (random.next() < 0.3) {
        const made = await operation(
          { name: "create" },
          (key) => sessions.create({ person: OWNER }, { id: `w${loop}-${key}` }),
          ({ id }) => ({ session: id }),
        );
        if (made !== undefined) owned.push({ id: made.id, versions: 0 });
        return;
      }
      let chat = "";
      const opened = await operation(
        { name: "open" },
        (key) => {
          chat = `w${loop}-${key}`;
          return sessions.open(sourceOf(chat));
        },
        ({ session }) => ({ session: session.id }),
      );
      if (opened !== undefined) owned.push({ id: opened.session.id, chat, versions: 0 });
    },
  };
  const often = "append append append append append turn turn turn turn usage usage begin begin";
  const mix = `${often} undo undo redo rewrite compress fork title title hold remove`.split(" ");

  while (!stopping) {
    if (pauseMs !== "0") await pause(random.between(0, Number(pauseMs)));
    const one = owned.length === 0 ? undefined : random.pick(owned);
    if (one === undefined) await steps.begin?.({ id: "", versions: 0 });
    else await steps[random.pick(mix)]?.(one);
  }
}

await recover();
// The first read of removed files fails; the next heartbeat finds the reason and ends the process.
const owned = await ownedByLoops().catch(async (error: unknown) => {
  await pause(10);
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  throw error;
});
tell({ say: "working" });
await Promise.all(owned.map((sessions, loop) => work(loop, sessions)));
await store.runners.retire({ runner: runner.id });
await store.close();
tell({ say: "end" });
process.exit(0);
