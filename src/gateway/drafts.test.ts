import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { look } from "../../test/support/database.ts";
import { type FakeClock, fakeClock, type Home, openHome } from "../../test/support/test-home.ts";
import { getText, textPart } from "../core/message.ts";
import { platformTraits } from "../core/platforms.ts";
import { NO_RESET } from "../core/reset-policy.ts";
import type { Source } from "../core/source.ts";
import type { Turn } from "../core/turn.ts";
import type { Outbound, Platform, SendOutcome } from "../ports/platform.ts";
import { buildRouting } from "../sessions/routing.ts";
import { localRunner } from "../system/local-runner.ts";
import { type Draft, type DraftOptions, draft } from "./drafts.ts";

const ada: Source = { platform: "telegram", chatType: "group", chatId: "-1", userId: "1" };
const EVERY = 500;

interface Seen {
  readonly at: number;
  readonly does: "send" | "edit";
  readonly words: string;
  readonly replyTo?: string | undefined;
}

interface DraftSetup {
  readonly home: Home;
  readonly turn: Turn;
  readonly shown: readonly Seen[];
  draft(more?: Partial<DraftOptions>): Draft;
  answer(...next: readonly (SendOutcome | { readonly state: "gone" })[]): void;
  pass(ms: number): Promise<void>;
}

/** A turn in progress, and a messenger that shows its answer. */
async function startDraft(): Promise<DraftSetup> {
  const clock: FakeClock = { ...fakeClock(), now: () => Date.now() };
  const home = await openHome({}, clock);
  const { store } = home;
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const reset = { default: NO_RESET, byType: {}, byPlatform: {} };
  const accepted = await store.inbox.accept({
    ...buildRouting(ada, { zone: "UTC", profile: "main", reset, scope: {}, clock }),
    messageId: "7",
    message: { role: "user", parts: [textPart("hello")] },
    claim: { runner: runner.id, take: "one" },
  });
  if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
    throw new Error("no turn has started");
  const { turn } = accepted;
  const shown: Seen[] = [];
  const planned: (SendOutcome | { readonly state: "gone" })[] = [];
  const see = (does: Seen["does"], { parts, replyTo }: Outbound): void =>
    void shown.push({ at: clock.now(), does, words: getText({ parts }), replyTo });
  const platform: Platform = {
    name: "telegram",
    account: "1",
    traits: platformTraits("telegram"),
    run: () => new Promise(() => {}),
    async send(out) {
      see("send", out);
      return (planned.shift() as SendOutcome | undefined) ?? { state: "sent", messageId: "m1" };
    },
    async edit(out) {
      see("edit", out);
      return planned.shift() ?? { state: "sent", messageId: "m1" };
    },
    getDraftIntervalMs: () => EVERY,
  };
  const nothing = (): void => {};
  return {
    home,
    turn,
    shown,
    answer: (...next) => void planned.push(...next),
    draft: (more = {}) =>
      draft({
        ...{ store, platform, clock, turn, limit: 100 },
        log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
        replyTo: () => "7",
        isIdle: () => true,
        ...more,
      }),
    async pass(ms) {
      for (const until = Date.now() + ms; Date.now() < until; ) {
        for (let turns = 0; turns < 4; turns += 1) await new Promise(setImmediate);
        await vi.advanceTimersByTimeAsync(Math.min(50, until - Date.now()));
      }
      for (let turns = 0; turns < 4; turns += 1) await new Promise(setImmediate);
    },
  };
}

const keep = (): Promise<void> => Promise.resolve();
const listDeliveries = ({ file }: Home): unknown[] =>
  look(file, (db) => db.prepare("select state from deliveries order by n").pluck().all());

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("an answer in progress", () => {
  it("is shown after a second, as a reply, then edited at most as often as the messenger allows, and only when there is new text", async () => {
    const { draft: begin, shown, pass, home } = await startDraft();
    const own = begin();
    own.update("Once", keep);
    await pass(900);
    expect(shown).toEqual([]);
    own.update("Once upon", keep);
    await pass(200);
    expect(shown).toMatchObject([{ does: "send", words: "Once upon …", replyTo: "7" }]);
    for (const more of [" a", " a time", " a time there"]) own.update(`Once upon${more}`, keep);
    await pass(600);
    expect(shown.slice(1)).toMatchObject([{ does: "edit", words: "Once upon a time there …" }]);
    await pass(10_000);
    expect(shown).toHaveLength(2);
    expect((shown[1]?.at ?? 0) - (shown[0]?.at ?? 0)).toBeGreaterThanOrEqual(EVERY);
    expect(await own.end()).toBe(1);
    expect(listDeliveries(home)).toEqual(["draft"]);
  });

  it("is not shown when it is complete within a second, nor while it has no text", async () => {
    const { draft: begin, shown, pass, home } = await startDraft();
    const own = begin();
    own.update(" \n", keep);
    await pass(5000);
    own.update(" \nhello", keep);
    await pass(500);
    expect(await own.end()).toBeUndefined();
    own.update("more", keep);
    await pass(5000);
    expect([shown, listDeliveries(home)]).toEqual([[], []]);
  });

  it("is shown up to the length of one message, with its code block closed and no half characters", async () => {
    const { draft: begin, shown, pass } = await startDraft();
    const own = begin();
    own.update(`${"x".repeat(97)}😀 and so on`, keep);
    await pass(1100);
    own.update("```ts\nconst a = 1;", keep);
    await pass(1100);
    expect(shown.map(({ words }) => words)).toEqual([
      expect.stringMatching(/^x{97}.? …$/u),
      "```ts\nconst a = 1;\n```",
    ]);
    expect(shown.every(({ words }) => words.isWellFormed() && words.length <= 100)).toBe(true);
    await own.end();
  });

  it("is stored before it is shown, and not shown when that fails", async () => {
    const { draft: begin, shown, pass, home } = await startDraft();
    const own = begin();
    const steps: string[] = [];
    const kept = (words: string) => async (): Promise<void> =>
      void steps.push(`${words}, ${shown.length} shown before`);
    own.update("Once", kept("Once"));
    await pass(1100);
    own.update("Once upon", kept("Once upon"));
    await pass(600);
    own.update("Once upon a time", () => Promise.reject(new Error("no room")));
    await pass(5000);
    expect(steps).toEqual(["Once, 0 shown before", "Once upon, 1 shown before"]);
    expect(shown.map(({ words }) => words)).toEqual(["Once …", "Once upon …"]);
    expect(await own.end()).toBe(1);
    expect(listDeliveries(home)).toEqual(["draft"]);
  });

  it("is shown only after all other deliveries to the chat", async () => {
    let free = false;
    const { draft: begin, shown, pass } = await startDraft();
    const own = begin({ isIdle: () => free });
    own.update("Once", keep);
    await pass(5000);
    expect(shown).toEqual([]);
    free = true;
    await pass(600);
    expect(shown).toMatchObject([{ does: "send", words: "Once …" }]);
    await own.end();
  });

  it("continues in the message that an earlier attempt has shown", async () => {
    const { draft: begin, turn, shown, pass } = await startDraft();
    const own = begin({ turn: { ...turn, draftDelivery: { delivery: 5, shown: { messageId: "m0" } } } });
    own.update("Again", keep);
    await pass(1100);
    expect(shown).toMatchObject([{ does: "edit", words: "Again …" }]);
    expect(await own.end()).toBe(5);
  });
});

describe("a messenger that does not accept a draft", () => {
  it("gets it again after the time that it names, and not before", async () => {
    const { draft: begin, answer, shown, pass, home } = await startDraft();
    answer({ state: "not_sent", reason: "Too fast.", retryAfterMs: 3000 });
    const own = begin();
    own.update("Once", keep);
    await pass(3900);
    expect(shown).toHaveLength(1);
    expect(listDeliveries(home)).toEqual([]);
    await pass(600);
    expect(shown).toHaveLength(2);
    expect(await own.end()).toBeDefined();
  });

  it("gets no further draft after a refusal, and no row remains", async () => {
    const { draft: begin, answer, shown, pass, home } = await startDraft();
    answer({ state: "refused", reason: "No." });
    const own = begin();
    own.update("Once", keep);
    await pass(2000);
    own.update("Once upon", keep);
    await pass(5000);
    expect(shown).toHaveLength(1);
    expect(await own.end()).toBeUndefined();
    expect(listDeliveries(home)).toEqual([]);
  });

  it("but may have shown it gets the final text in that message, and no second draft", async () => {
    const { draft: begin, answer, shown, pass, home } = await startDraft();
    answer({ state: "unknown", reason: "It broke." });
    const own = begin();
    own.update("Once", keep);
    await pass(2000);
    own.update("Once upon", keep);
    await pass(5000);
    expect(shown).toHaveLength(1);
    expect(await own.end()).toBe(1);
    expect(listDeliveries(home)).toEqual(["draft"]);
  });
});
