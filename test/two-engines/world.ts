import type { NewMessage } from "../../src/core/message.ts";
import { isRefused } from "../../src/core/refusal.ts";
import type { Source } from "../../src/core/source.ts";
import type { Turn } from "../../src/core/turn.ts";
import type { Store } from "../../src/ports/store.ts";
import { createRemoteRunner, EVERYONE, SCOPE_PER_USER, SCOPE_SHARED } from "../../src/testing/scene.ts";

/** A random action: the numbers choose among the rows that exist by then. */
export interface Action {
  readonly kind: keyof typeof ACTIONS;
  readonly a: number;
  readonly b: number;
  readonly text: string;
}

/** One store, and the rows that the actions so far have shown. The same actions give the same rows on any engine. */
export interface World {
  readonly store: Store;
  now: number;
  ids: number;
  readonly sessions: string[];
  readonly conversations: number[];
  readonly turns: Pick<Turn, "number" | "fence">[];
  readonly deliveries: number[];
  readonly processes: string[];
  readonly approvals: { readonly number: number; readonly person: string }[];
  readonly people: Map<string, string>;
}

const T0 = Date.UTC(2026, 2, 15, 9);

export function createWorld(store: Store): World {
  return {
    store,
    now: T0,
    ids: 0,
    sessions: [],
    conversations: [],
    turns: [],
    deliveries: [],
    processes: [],
    approvals: [],
    people: new Map(),
  };
}

/** Runs one action and returns its result, or the code of its error. */
export async function act(world: World, { kind, ...rest }: Action): Promise<unknown> {
  world.now += 1000 * (1 + (rest.a % 90));
  const { store, now } = world;
  // A runner counts as alive for half a minute after its last heartbeat, also on the monotonic clock.
  for (const id of RUNNERS) await store.runners.recordHeartbeat({ runner: createRemoteRunner(id), now });
  try {
    const result = await ACTIONS[kind](world, rest);
    collectRows(world, result);
    return result;
  } catch (error) {
    return { failed: (error as { code?: string }).code };
  }
}

const RUNNERS = ["r1", "r2"] as const;
const PEOPLE = ["ann", "bob", "cy"] as const;

const pick = <T>(list: readonly T[], n: number, missing: T): T => list[n % list.length] ?? missing;

function newId(world: World): string {
  world.ids += 1;
  return `20260315_090000_${world.ids.toString(16).padStart(8, "0")}`;
}

function chooseSource(a: number, b: number): Source {
  const userId = pick(PEOPLE, a, "ann");
  if (b % 3 === 0) return { platform: "telegram", chatType: "dm", chatId: userId, userId, userName: userId };
  const thread = b % 4 === 0 ? { threadId: "7" } : {};
  const alt = a % 5 === 0 ? { userIdAlt: `alt ${userId}` } : {};
  return { platform: "signal", chatType: "group", chatId: `g${b % 2}`, userId, ...thread, ...alt };
}

const say = (text: string): NewMessage => ({ role: "user", parts: [{ type: "text", text }] });
const answer = (text: string): NewMessage => ({ role: "assistant", parts: [{ type: "text", text }] });

function route(world: World, a: number, b: number) {
  return {
    source: chooseSource(a, b),
    profile: "main",
    scope: b % 7 === 0 ? SCOPE_SHARED : SCOPE_PER_USER,
    reset: b % 5 === 0 ? { idleBefore: world.now - 60_000 } : {},
    newSession: { id: newId(world), kind: "chat" as const },
    now: world.now,
  };
}

type Run = (world: World, action: Omit<Action, "kind">) => Promise<unknown>;

const session = (world: World, a: number) => ({
  asker: EVERYONE,
  session: pick(world.sessions, a, "none"),
  now: world.now,
});

const ACTIONS = {
  accept: (world, { a, b, text }) =>
    world.store.inbox.accept({
      ...route(world, a, b),
      messageId: `m${b % 40}.${world.ids % 3}`,
      message: say(text),
      ...(b % 2 === 0 && { claim: { runner: pick(RUNNERS, a, "r1"), take: "one" as const } }),
      ...(a % 4 === 0 && { cursor: { name: "telegram", value: String(b) } }),
    }),
  open: (world, { a, b }) => world.store.conversations.open({ ...route(world, a, b), fresh: b % 6 === 0 }),
  claim: (world, { a, b }) =>
    world.store.turns.claim({ ...session(world, a), runner: pick(RUNNERS, b, "r1"), take: "one" }),
  finish: (world, { a, b, text }) =>
    world.store.turns.finish({
      turn: 0,
      fence: 0,
      ...world.turns.at(-1 - (a % 3)),
      outcome: b % 4 === 0 ? "failed" : "done",
      messages: [answer(text)],
      usage: { inputTokens: a, outputTokens: b, costUsd: a / 1000 },
      deliveries: [{ target: chooseSource(a, b), parts: [{ type: "text", text }] }],
      ...(b % 2 === 0 && { next: { runner: "r1", take: "all" as const } }),
      now: world.now,
    }),
  saveDraft: (world, { a, text }) =>
    world.store.turns.saveDraft({
      turn: 0,
      fence: 0,
      ...world.turns.at(-1 - (a % 2)),
      answerDraft: { text, thought: "" },
    }),
  append: (world, { a, text }) =>
    world.store.messages.append({ ...session(world, a), messages: [say(text), answer(text)] }),
  create: (world, { a, b, text }) =>
    world.store.sessions.create({
      session: {
        id: newId(world),
        kind: "chat",
        owner: `p_${pick(PEOPLE, a, "ann")}`,
        ...(b % 3 === 0 && { title: `Title ${text.slice(0, 8)}` }),
      },
      profile: "main",
      now: world.now,
    }),
  setTitle: (world, { a, b, text }) =>
    world.store.sessions.setTitle({
      ...session(world, a),
      title: `Title ${text.slice(0, 4)}`,
      ...(b % 2 === 0 && { numbered: true }),
    }),
  fork: (world, { a, b }) =>
    world.store.sessions.fork({
      ...session(world, a),
      newSession: { id: newId(world), kind: "chat" },
      ...(b % 3 === 0 && { keep: b % 4 }),
    }),
  undo: (world, { a }) => world.store.messages.changeView({ ...session(world, a), kind: "undo" }),
  redo: (world, { a }) => world.store.messages.changeView({ ...session(world, a), kind: "redo" }),
  compress: (world, { a, b, text }) =>
    world.store.messages.changeView({
      ...session(world, a),
      kind: "compress",
      summary: say(text),
      keepLast: b % 3,
    }),
  reset: (world, { a }) =>
    world.store.conversations.reset({
      asker: EVERYONE,
      conversation: pick(world.conversations, a, 0),
      newSession: { id: newId(world), kind: "chat" },
      now: world.now,
    }),
  switchTo: (world, { a, b }) =>
    world.store.conversations.switchTo({
      ...session(world, a),
      conversation: pick(world.conversations, b, 0),
    }),
  recordUsage: (world, { a, b }) =>
    world.store.sessions.recordUsage({
      ...session(world, a),
      purpose: "compress",
      usage: { inputTokens: b, outputTokens: 1, costUsd: b / 7 },
    }),
  hold: (world, { a, b }) =>
    world.store.sessions.hold({ ...session(world, a), name: "job", until: world.now + b * 1000 }),
  remove: (world, { a }) => world.store.sessions.remove(session(world, a)),
  enqueue: (world, { a, b, text }) =>
    world.store.outbox.enqueue({
      deliveries: [{ target: chooseSource(a, b), parts: [{ type: "text", text }], quiet: b % 2 === 0 }],
      runner: "r1",
      now: world.now,
    }),
  beginDelivery: (world, { a }) =>
    world.store.outbox.beginDelivery({
      delivery: pick(world.deliveries, a, 0),
      runner: "r1",
      now: world.now,
    }),
  settle: (world, { a, b }) =>
    world.store.outbox.settle({
      delivery: pick(world.deliveries, a, 0),
      outcome:
        b % 2 === 0
          ? { state: "sent", platformMessageId: String(b) }
          : { state: "waiting", nextAt: world.now + 5000, error: "503", failed: true },
      now: world.now,
    }),
  acceptCommand: (world, { a, b }) =>
    world.store.inbox.acceptCommand({
      profile: "main",
      source: chooseSource(a, b),
      messageId: `c${b % 20}`,
      line: "/status",
      runner: "r1",
      now: world.now,
    }),
  editInbound: (world, { a, b, text }) =>
    world.store.inbox.editInbound({
      profile: "main",
      source: chooseSource(a, b),
      messageId: `m${b % 40}.${a % 3}`,
      ...(a % 2 === 0 && { message: say(text) }),
      now: world.now,
    }),
  cancelPending: (world, { a }) =>
    world.store.inbox.cancelPending({ conversation: pick(world.conversations, a, 0), now: world.now }),
  changeMemory: (world, { a, b, text }) =>
    world.store.memory.changeMemory({
      owner: `p_${pick(PEOPLE, a, "ann")}`,
      change:
        b % 4 === 0 ? { action: "remove", old: text.slice(0, 3) } : { action: "add", text: `${text} ${b}` },
      now: world.now,
    }),
  flush: async (world, { a }) => {
    const { store, now } = world;
    const requested = await store.memory.requestFlush(session(world, a));
    const flush = await store.memory.claimFlush({ runner: "r1", now });
    if (flush === undefined || a % 2 === 0) return { requested, flush };
    const changes = [{ action: "add", text: `flush ${flush.number}` } as const];
    return {
      requested,
      flush,
      done: await store.memory.finishFlush({ flush: flush.number, runner: "r1", changes, now }),
    };
  },
  lease: (world, { a, b }) =>
    b % 4 === 0
      ? world.store.runners.releaseLease({ name: "expiry", runner: pick(RUNNERS, a, "r1") })
      : world.store.runners.acquireLease({
          name: "expiry",
          runner: pick(RUNNERS, a, "r1"),
          ttlMs: 30_000,
          now: world.now,
        }),
  expire: async (world, { a }) => {
    const { store, now } = world;
    const idle = await store.conversations.listIdle({ before: now - 30_000, limit: 1 + (a % 3) });
    const expired: unknown[] = [];
    for (const { conversation } of idle)
      expired.push(
        await store.conversations.expireConversation({
          conversation: conversation.number,
          reset: { idleBefore: now - 30_000 },
          now,
        }),
      );
    return expired;
  },
  process: async (world, { a, b, text }) => {
    const { store, now } = world;
    const id = `proc_${world.processes.length}`;
    const watch = { mode: "all", patterns: [], wakes: b % 2 === 0 } as const;
    const begun = await store.processes.beginProcess({
      process: { id, command: text, cwd: "/", background: true, pty: false, watch },
      session: session(world, a).session,
      conversation: pick(world.conversations, b, 0),
      target: chooseSource(a, b),
      maxRunning: 5,
      now,
    });
    if (isRefused(begun)) return begun;
    world.processes.push(id);
    await store.processes.markProcessRunning({ id, keeper: "k", pid: 1, startTime: "1", pty: false, now });
    return store.processes.appendProcessOutput({ id, keeper: "k", from: 0, text: `${text}!`, matched: [] });
  },
  endProcess: (world, { a }) =>
    world.store.processes.endProcess({
      id: pick(world.processes, a, "proc_x"),
      exit: { code: a % 3 },
      now: world.now,
    }),
  approve: async (world, { a, b }) => {
    const { store, now } = world;
    const open = world.approvals.at(-1);
    if (b % 2 === 0 && open !== undefined)
      return store.access.answerApproval({
        person: open.person,
        approval: open.number,
        answer: pick(["once", "session", "always", "never", "deny"] as const, a, "once"),
        now,
      });
    const request = { title: "Run", detail: "ls", pattern: `ls ${a % 3}` };
    const asked = await store.access.createApproval({
      turn: 0,
      fence: 0,
      ...world.turns.at(-1),
      request,
      deadline: now + 60_000,
      now,
    });
    if (!isRefused(asked)) world.approvals.push({ number: asked.number, person: asked.person });
    return asked;
  },
  purge: (world) =>
    world.store.upkeep.purgeFinished({ before: world.now - 600_000, limit: 5, now: world.now }),
} satisfies Record<string, Run>;

export const ACTION_KINDS = Object.keys(ACTIONS) as readonly (keyof typeof ACTIONS)[];

/** Remembers the rows of a result, for later actions. */
function collectRows(world: World, result: unknown): void {
  if (typeof result !== "object" || result === null) return;
  const found = result as {
    id?: string;
    handle?: string;
    session?: { id?: string };
    conversation?: { number?: number };
    turn?: Turn;
    next?: Turn;
    fence?: number;
    number?: number;
    attempt?: number;
    deliveries?: readonly { number: number }[];
  };
  const add = <T>(list: T[], value: T | undefined): void => {
    if (value !== undefined && !list.includes(value)) list.push(value);
  };
  add(world.sessions, found.session?.id);
  if (found.handle !== undefined) add(world.sessions, found.id);
  add(world.conversations, found.conversation?.number);
  for (const turn of [found.turn, found.next, found.attempt === undefined ? undefined : (result as Turn)])
    if (turn?.fence !== undefined) world.turns.push({ number: turn.number, fence: turn.fence });
  for (const { number } of found.deliveries ?? []) add(world.deliveries, number);
}

/** Everything that the store shows of its rows. */
export async function observe({
  store,
  sessions,
  conversations,
  processes,
  deliveries,
  now,
}: World): Promise<unknown> {
  const asker = EVERYONE;
  const { bytes: _, ...stats } = (await store.sessions.getStats({ asker })) as unknown as Record<
    string,
    unknown
  >;
  const perSession = [];
  for (const id of sessions) {
    const request = { asker, session: id };
    perSession.push({
      session: await store.sessions.getSession(request),
      history: await store.messages.readHistory(request),
      all: await store.messages.listMessages(request),
      ranges: await store.messages.getViewRanges(request),
      versions: await store.messages.listVersions(request),
      pending: await store.inbox.listPending(request),
      usage: await store.sessions.listUsageEntries(request),
      draft: await store.turns.getDraft(request),
      diagnostics: await store.sessions.getDiagnostics(request),
    });
  }
  const search = async (text: string) =>
    (await store.messages.searchMessages({ asker, text, limit: 200 }))
      .map((hit) => JSON.stringify(hit))
      .toSorted();
  return {
    stats,
    perSession,
    sessions: await store.sessions.querySessions({ asker, limit: 200, archived: "both" }),
    conversations: await store.conversations.listConversations({ asker, limit: 200 }),
    decisions: await Promise.all(
      conversations.map((conversation) => store.conversations.listDecisions({ asker, conversation })),
    ),
    claimable: await store.turns.listClaimable({ now }),
    deliveries: await Promise.all(deliveries.map((number) => store.outbox.getDelivery({ number }))),
    due: await store.outbox.listPendingDeliveries({ dueAt: now, limit: 200 }),
    commands: await store.inbox.listOrphanedCommands({ platform: "telegram", now }),
    leases: await store.runners.listLeases({ now }),
    memories: await Promise.all(PEOPLE.map((person) => store.memory.getMemory({ owner: `p_${person}` }))),
    rules: await Promise.all(
      PEOPLE.map((person) => store.access.listApprovalRules({ person: `p_${person}` })),
    ),
    processes: await store.processes.listProcesses({ asker, endedSince: 0, foreground: true, limit: 200 }),
    output: await Promise.all(processes.map((id) => store.processes.readProcessOutput({ asker, id }))),
    cursor: await store.inbox.getCursor({ name: "telegram" }),
    insights: await store.sessions.getInsights({ asker, since: 0 }),
    found: [await search("hello"), await search('"hello world"'), await search("wor* OR 你好 -there")],
  };
}

/**
 * People get random ids: they are numbered in the order in which they appear in the results of a world. Sums of fractions
 * depend on the order of their rows.
 */
export function normalize({ people }: World, value: unknown): string {
  const text = JSON.stringify(value, (_, it) => (isFraction(it) ? Number(it.toPrecision(9)) : it)) ?? "";
  return text.replace(/\bp_[0-9a-f]{12}\b/g, (id) => {
    const known = people.get(id) ?? `person ${people.size + 1}`;
    people.set(id, known);
    return known;
  });
}

function isFraction(value: unknown): value is number {
  return typeof value === "number" && !Number.isInteger(value);
}
