import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { modelServer } from "../../test/support/model-server.ts";
import { heldAgent, me } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { model } from "../agents/model/model.ts";
import { script } from "../agents/script.ts";
import { getText, type Message, textPart } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { DEFAULT_RESET_POLICY } from "../core/reset-policy.ts";
import { localSource } from "../core/source.ts";
import type { Turn } from "../core/turn.ts";
import type { Agent } from "../ports/agent.ts";
import type { MessageInput } from "../sessions/message-input.ts";
import { buildRouting } from "../sessions/routing.ts";
import { localRunner } from "../system/local-runner.ts";
import { type Compression, type CompressOptions, compressIfNeeded } from "./compress.ts";
import { SUMMARY_REQUEST } from "./request-summary.ts";
import { runTurn } from "./run-turn.ts";

const never = new AbortController().signal;
const SUMMARY = "They planned the ride to Lübeck: 3 horses, paid.";

/** Answers every request with this summary. */
function summing(
  window: number,
  say: unknown = SUMMARY,
  usage: unknown = { input_tokens: 9, last_prompt_tokens: 999 },
) {
  return script({ window, answers: [{ to: "^Write a summary", say, usage }, { say: "Go on." }] });
}

const exchange = (n: number, tokens = 10): MessageInput[] => [
  { role: "user", text: `q${n} `.padEnd(tokens * 4, "x") },
  { role: "assistant", text: `a${n} `.padEnd(tokens * 4, "y") },
];

async function session(home: Home, messages: readonly MessageInput[], lastPromptTokens = 0): Promise<string> {
  const { id } = await home.sessions.create(me);
  await home.sessions.append(me, id, messages);
  if (lastPromptTokens > 0) await home.sessions.recordUsage(me, id, { lastPromptTokens });
  return id;
}

const exchanges = (count: number, tokens?: number): MessageInput[] =>
  Array.from({ length: count }, (_, n) => exchange(n + 1, tokens)).flat();

function compress(home: Home, id: string, agent: Agent, more: Partial<CompressOptions> = {}) {
  const { store, clock } = home;
  return compressIfNeeded({ store, clock, agent, session: id, share: 0.85, signal: never, ...more });
}

const readVisible = async ({ sessions }: Home, id: string): Promise<readonly Message[]> =>
  (await sessions.history(me, id)) ?? [];
const firstWords = (messages: readonly Message[]): string[] =>
  messages.map((message) => getText(message).split(/[\s:]/)[0] ?? "");

/** A turn with this input, in a session with these earlier messages. */
async function startTurn(home: Home, before: readonly MessageInput[], words: string): Promise<Turn> {
  const { store, clock, sessions } = home;
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const reset = { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} };
  const routing = buildRouting(localSource(), { zone: "UTC", profile: "main", reset, scope: {}, clock });
  const opened = await store.conversations.open(routing);
  await sessions.append(me, opened.session.id, before);
  const accepted = await store.inbox.accept({
    ...routing,
    messageId: "m1",
    message: { role: "user", parts: [textPart(words)] },
    claim: { runner: runner.id, take: "one" },
  });
  if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
    throw new Error("the turn did not begin");
  return accepted.turn;
}

function done(compression: Compression | undefined) {
  if (compression?.outcome !== "compressed")
    throw new Error(`not compressed: ${JSON.stringify(compression)}`);
  return compression;
}

describe("a session is compressed when it fills the model's window, not when it has many messages", () => {
  it.each([
    ["10 tiny messages", exchanges(5), 0, 200_000, false],
    ["300 tiny messages", exchanges(150), 0, 200_000, false],
    ["180,000 tokens on a window of 200,000", exchanges(10), 180_000, 200_000, true],
    ["120,000 tokens on a window of 128,000", exchanges(10), 120_000, 128_000, true],
    ["120,000 tokens on a window of 200,000", exchanges(10), 120_000, 200_000, false],
    ["180,000 estimated tokens on a window of 200,000", exchanges(9, 10_000), 0, 200_000, true],
    ["120,000 estimated tokens on a window of 200,000", exchanges(6, 10_000), 0, 200_000, false],
    [
      "three messages, however long",
      [...exchange(1, 60_000), ...exchange(2, 60_000)].slice(0, 3),
      0,
      128_000,
      false,
    ],
    ["three messages, whatever was counted", exchanges(2).slice(0, 3), 199_000, 200_000, false],
  ])("%s", async (_, messages, counted, window, yes) => {
    const home = await openHome();
    const id = await session(home, messages, counted);
    const result = await compress(home, id, summing(window));
    expect(result?.outcome).toBe(yes ? "compressed" : undefined);
    expect((await readVisible(home, id)).length === messages.length).toBe(!yes);
  });

  it("messages since the last counted prompt are added to its size", async () => {
    const home = await openHome();
    const id = await session(home, [...exchanges(10), { role: "user", text: "z".repeat(400_000) }], 100_000);
    expect((await compress(home, id, summing(200_000)))?.outcome).toBe("compressed");
  });

  it("the window is that of the model that the chat chose", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 120_000);
    const agent = {
      ...summing(200_000),
      getContextWindow: (name: string) => (name === "small" ? 128_000 : 200_000),
    };
    expect(await compress(home, id, agent, { model: "large" })).toBeUndefined();
    expect((await compress(home, id, agent, { model: "small" }))?.outcome).toBe("compressed");
  });

  it("never when the agent has no window or the session does not exist", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 1_000_000);
    expect(await compress(home, id, echo)).toBeUndefined();
    expect(await compress(home, id, echo, { force: true })).toMatchObject({ why: "no_model" });
    expect(await compress(home, "nobody", summing(1000))).toBeUndefined();
  });
});

describe("a compressed session", () => {
  it("shows the summary and the last exchanges; the replaced messages are still stored and found", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const result = done(await compress(home, id, summing(200_000)));
    expect(result).toMatchObject({ before: 20, after: 7 });
    expect(result.tokensBefore).toBeGreaterThanOrEqual(180_000);
    expect(result.tokensAfter).toBeLessThan(result.tokensBefore / 2);
    expect(result.notice).toMatch(/20 → 7 messages, ~180,0\d\d → ~[\d,]+ tokens.*\/search/);
    const now = await readVisible(home, id);
    expect(firstWords(now)).toEqual(["Summary", "q8", "a8", "q9", "a9", "q10", "a10"]);
    expect(now[0]).toMatchObject({ role: "note", extra: { summary: true } });
    expect(getText(now[0] as Message)).toContain(SUMMARY);
    expect((await home.sessions.messages(me, id))?.length).toBe(21);
    expect((await home.sessions.search(me, "q3")).map(({ seq }) => seq)).toEqual([5]);
    const usage = (await home.sessions.get(me, id))?.usage;
    expect([usage?.inputTokens, usage?.lastPromptTokens]).toEqual([9, 0]);
    // No further compression is due.
    expect(await compress(home, id, summing(200_000))).toBeUndefined();
  });

  it("can be undone: /undo removes the last exchange, and the earlier version shows all messages again", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const before = await readVisible(home, id);
    await compress(home, id, summing(200_000));
    await home.sessions.undo(me, id);
    expect(firstWords(await readVisible(home, id)).at(-1)).toBe("a9");
    await home.sessions.redo(me, id);
    const [, summed] = (await home.sessions.versions(me, id)).filter(
      ({ kind }) => kind !== "undo" && kind !== "redo",
    );
    await home.sessions.restore(me, id, summed?.version ?? -1);
    expect(await readVisible(home, id)).toEqual(before);
  });

  it("is compressed again with its summary when it is too long again", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    await compress(home, id, summing(200_000, "FIRST"));
    await home.sessions.append(me, id, exchanges(5));
    await home.sessions.recordUsage(me, id, { lastPromptTokens: 190_000 });
    const { url, requests } = await modelServer({ say: ["SECOND"] });
    const agent = model(
      { provider: "compatible", model: "tiny", baseUrl: url, window: 200_000 },
      { retries: 0 },
    );
    done(await compress(home, id, agent));
    expect(JSON.stringify(requests[0]?.body.messages)).toContain("FIRST");
    const now = (await readVisible(home, id)).map(getText);
    expect(now[0]).toContain("SECOND");
    expect(now.join("\n")).not.toContain("FIRST");
  });

  it("is sent to the model as the summary and the tail, in a form that every provider accepts", async () => {
    const home = await openHome();
    const called: MessageInput[] = [
      { role: "user", text: "look" },
      { role: "assistant", text: "", toolCalls: [{ id: "1", name: "see", arguments: {} }] },
      { role: "tool", text: "seen", toolCallId: "1", toolName: "see" },
      { role: "assistant", text: "I saw it" },
    ];
    const id = await session(
      home,
      [...exchanges(10), ...called, { role: "user", text: "and now?" }],
      190_000,
    );
    const { url, requests } = await modelServer(
      { say: [SUMMARY], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
      { say: ["ok"] },
    );
    const agent = model(
      { provider: "compatible", model: "tiny", baseUrl: url, window: 200_000 },
      { retries: 0 },
    );
    done(await compress(home, id, agent));
    const asked = requests[0]?.body.messages ?? [];
    expect(asked.at(-1)).toEqual({ role: "user", content: SUMMARY_REQUEST });
    expect(asked.at(1)?.content).toMatch(/^q1 /);
    const history = providerHistory(await readVisible(home, id));
    for await (const _ of agent.run({ session: id, history, blob: async () => undefined }, never));
    const [system, ...rest] = requests[1]?.body.messages ?? [];
    expect(system?.role).toBe("system");
    expect(rest.map(({ content }) => String(content).split(/[\s(]/)[0])).toEqual([
      "[Note:",
      "q10",
      "a10",
      "look",
      "[Record",
      "and",
    ]);
    expect(rest[0]).toMatchObject({ role: "user", content: expect.stringContaining(SUMMARY) });
    expect((await home.sessions.get(me, id))?.usage.inputTokens).toBe(5);
  });

  it("is summarised step by step when it is longer than the model can read at once", async () => {
    const home = await openHome();
    const id = await session(home, [
      ...exchanges(30, 400),
      { role: "user", text: "x".repeat(80_000) },
      ...exchanges(3),
    ]);
    const { url, requests } = await modelServer({ say: ["PART 1"] }, { say: ["PART 2"] }, { say: ["ALL"] });
    const agent = model(
      { provider: "compatible", model: "tiny", baseUrl: url, window: 20_000 },
      { retries: 0 },
    );
    done(await compress(home, id, agent));
    expect(requests.length).toBeGreaterThan(1);
    expect(JSON.stringify(requests[1]?.body.messages)).toContain("PART 1");
    for (const { body } of requests) expect(JSON.stringify(body.messages).length / 4).toBeLessThan(20_000);
    expect(getText((await readVisible(home, id))[0] as Message)).toMatch(/(PART 2|ALL)$/);
  });
});

describe("a model with a smaller window than configured", () => {
  const tooLong = { status: 400, body: { error: { message: "maximum context length is 100 tokens" } } };

  it("gets smaller requests until it can summarise", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10, 300));
    const { url, requests } = await modelServer(tooLong, { say: ["ONE"] }, { say: ["TWO"] });
    const agent = model({ provider: "compatible", model: "tiny", baseUrl: url }, { retries: 0 });
    done(await compress(home, id, agent, { force: true }));
    const [whole, ...parts] = requests.map(({ body }) => body.messages.length);
    for (const part of parts) expect(part).toBeLessThan(whole ?? 0);
    expect(getText((await readVisible(home, id))[0] as Message)).toMatch(/TWO$/);
  });

  it("is asked only a limited number of times", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10, 300));
    const { url, requests } = await modelServer(tooLong);
    const agent = model({ provider: "compatible", model: "tiny", baseUrl: url }, { retries: 0 });
    const result = await compress(home, id, agent, { force: true });
    expect(result).toMatchObject({ outcome: "unchanged", reason: expect.stringContaining("too long") });
    expect(requests.length).toBeLessThan(10);
    expect(await readVisible(home, id)).toHaveLength(20);
  });
});

describe("compression within a turn", () => {
  it("does not summarise the inputs of the turn, and no other process may compress meanwhile", async () => {
    const home = await openHome();
    const turn = await startTurn(home, exchanges(10), "What now?");
    await home.sessions.recordUsage(me, turn.session, { lastPromptTokens: 180_000 });
    const { fence, inputs } = turn;
    expect(await compress(home, turn.session, summing(200_000), { force: true, asker: me })).toMatchObject({
      outcome: "unchanged",
      why: "failed",
      reason: expect.stringContaining("An answer is being written"),
    });
    const stale = await compress(home, turn.session, summing(200_000), {
      turn: { fence: fence - 1, inputs },
    });
    expect(stale).toMatchObject({ outcome: "unchanged" });
    done(await compress(home, turn.session, summing(200_000), { turn: { fence, inputs } }));
    expect(getText((await readVisible(home, turn.session)).at(-1) as Message)).toBe("What now?");
    const finished = await home.store.turns.finish({
      turn: turn.number,
      fence,
      outcome: "done",
      messages: [{ role: "assistant", parts: [textPart("This.")] }],
      now: home.clock.now(),
    });
    expect(finished).not.toHaveProperty("refused");
    expect(firstWords(await readVisible(home, turn.session)).slice(-2)).toEqual(["What", "This."]);
  });

  it("sends the summary and the tail to the agent; without a summary, all messages", async () => {
    for (const first of [{ say: [SUMMARY] }, { status: 500 }]) {
      const home = await openHome();
      const notices: string[] = [];
      const turn = await startTurn(home, exchanges(10), "What now?");
      await home.sessions.recordUsage(me, turn.session, { lastPromptTokens: 180_000 });
      const { url, requests } = await modelServer(first, { say: ["This."] });
      const agent = model(
        { provider: "compatible", model: "tiny", baseUrl: url, window: 200_000 },
        { retries: 0 },
      );
      const end = await runTurn(
        turn,
        { ...home, agent, signal: never, claimNext: () => undefined },
        { compression: { at: 0.85, notify: async (notice) => void notices.push(notice) } },
      );
      expect(notices).toHaveLength("say" in first ? 1 : 0);
      expect(end).toMatchObject({ outcome: "done", text: "This." });
      const [, ...asked] = requests[1]?.body.messages ?? [];
      expect(asked).toHaveLength("say" in first ? 8 : 21);
      expect(asked.at(-1)?.content).toBe("What now?");
      expect((await readVisible(home, turn.session)).map(getText).slice(-2)).toEqual(["What now?", "This."]);
    }
  });

  it("repeats the request once with a summary when the model reports that the prompt is too long", async () => {
    const home = await openHome();
    const turn = await startTurn(home, exchanges(10), "What now?");
    const tooLong = { status: 400, body: { error: { message: "maximum context length is 100 tokens" } } };
    const { url } = await modelServer(tooLong, { say: [SUMMARY] }, { say: ["This."] });
    const agent = model(
      { provider: "compatible", model: "tiny", baseUrl: url, window: 200_000 },
      { retries: 0 },
    );
    const end = await runTurn(
      turn,
      { ...home, agent, signal: never, claimNext: () => undefined },
      { compression: { at: 0.85, notify: async () => {} } },
    );
    expect(end).toMatchObject({ outcome: "done", text: "This." });
  });

  it("does not repeat the request after a tool has acted, because the tool would act again", async () => {
    const home = await openHome();
    const turn = await startTurn(home, exchanges(10), "What now?");
    const agent = Object.assign(heldAgent(), { contextWindow: 200_000 });
    const ending = runTurn(
      turn,
      { ...home, agent, signal: never, claimNext: () => undefined },
      { compression: { at: 0.85, notify: async () => {} } },
    );
    const held = await agent.asked();
    held.send(
      { type: "tool_call", call: { id: "1", name: "look", arguments: {} } },
      { type: "tool_result", id: "1", name: "look", parts: [textPart("much")] },
      { type: "failed", reason: "It is too long.", tooLong: true },
    );
    held.end();
    expect(await ending).toMatchObject({ outcome: "failed", reason: "It is too long." });
    expect((await readVisible(home, turn.session)).slice(-3).map(({ role }) => role)).toEqual([
      "assistant",
      "tool",
      "assistant",
    ]);
  });

  it("keeps an input that is longer than all other messages", async () => {
    const home = await openHome();
    const long = "long ".repeat(40_000);
    const turn = await startTurn(home, exchanges(20, 1_000), long);
    done(await compress(home, turn.session, summing(90_000), { turn }));
    const now = await readVisible(home, turn.session);
    expect(getText(now.at(-1) as Message)).toBe(long);
  });

  it("keeps messages visible that arrive while the summary is written", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const agent = Object.assign(heldAgent(), { contextWindow: 200_000 });
    const summing = compress(home, id, agent);
    const held = await agent.asked();
    await home.sessions.append(me, id, {
      role: "assistant",
      text: "news from a job",
      origin: { proactive: true },
    });
    held.send({ type: "text", text: SUMMARY });
    held.end();
    done(await summing);
    expect((await readVisible(home, id)).map(getText).at(-1)).toBe("news from a job");
    expect(firstWords(await readVisible(home, id))[1]).toBe("q8");
  });

  it("does not restore messages that are removed while the summary is written", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const agent = Object.assign(heldAgent(), { contextWindow: 200_000 });
    const summing = compress(home, id, agent);
    const held = await agent.asked();
    for (let i = 0; i < 5; i += 1) await home.sessions.undo(me, id);
    const left = await readVisible(home, id);
    held.send({ type: "text", text: SUMMARY });
    held.end();
    expect(await summing).toMatchObject({
      outcome: "unchanged",
      reason: expect.stringContaining("meanwhile"),
    });
    expect(await readVisible(home, id)).toEqual(left);
  });
});

describe("without a summary", () => {
  it.each([
    ["the model fails", [{ fail: "No line." }], /No line\./],
    ["it is empty", [" \n"], /empty/],
    ["it is longer than what it sums up", [{ repeat: 200, say: ["on and on "] }], /longer/],
    ["the agent wants to act", [{ tool: "rm", run: ["false"] }, SUMMARY], /act/],
    ["the agent wants to ask", [{ approve: { title: "May I?" } }, SUMMARY], /act/],
  ])(
    "because %s, the session stays unchanged, and the person gets a notice from 95 % on",
    async (_, say, reason) => {
      const home = await openHome();
      const id = await session(home, exchanges(10), 180_000);
      const before = await readVisible(home, id);
      const early = await compress(home, id, summing(200_000, say));
      expect(early).toMatchObject({
        outcome: "unchanged",
        why: "failed",
        reason: expect.stringMatching(reason),
      });
      expect(early).not.toHaveProperty("notice");
      await home.sessions.recordUsage(me, id, { lastPromptTokens: 190_000 });
      const late = await compress(home, id, summing(200_000, say));
      expect(late).toMatchObject({ notice: expect.stringMatching(/nearly fills.*\/new/s) });
      expect(await readVisible(home, id)).toEqual(before);
      expect((await home.sessions.get(me, id))?.usage.lastPromptTokens).toBe(190_000);
    },
  );

  it("because the agent calls a tool, the tool does not run", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const mark = `${home.file}.mark`;
    await compress(home, id, summing(200_000, [{ tool: "mark", run: ["touch", mark] }, SUMMARY]));
    expect(existsSync(mark)).toBe(false);
  });

  it("the usage is counted", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    await compress(home, id, summing(200_000, [{ fail: "No." }], { input_tokens: 70 }));
    expect((await home.sessions.get(me, id))?.usage).toMatchObject({
      inputTokens: 70,
      lastPromptTokens: 180_000,
    });
  });

  it("because the view has changed meanwhile, the usage is counted", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const agent = Object.assign(heldAgent(), { contextWindow: 200_000 });
    const ended = compress(home, id, agent);
    const held = await agent.asked();
    await home.sessions.rewind(me, id, { seq: 3 });
    held.send({ type: "text", text: SUMMARY }, { type: "usage", usage: { inputTokens: 70 } });
    held.end();
    expect(await ended).toMatchObject({ outcome: "unchanged", why: "failed" });
    const entries = (await home.sessions.usageEntries(me, id)) ?? [];
    expect(entries.map(({ purpose, usage }) => [purpose, usage.inputTokens])).toEqual([["compress", 70]]);
  });

  it("because it was stopped, there is no notice, and an agent that ignores the signal delays nothing", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 199_000);
    const stop = new AbortController();
    const summing_ = compress(home, id, summing(200_000, ["Begun", { hang: true }]), { signal: stop.signal });
    stop.abort();
    const result = await summing_;
    expect(result).toMatchObject({ outcome: "unchanged", reason: "It was stopped." });
    expect(result).not.toHaveProperty("notice");
    expect(await readVisible(home, id)).toHaveLength(20);
  });

  it("because the process crashed before storing it, the session is unchanged", async () => {
    const home = await openHome();
    const id = await session(home, exchanges(10), 180_000);
    const before = await readVisible(home, id);
    const agent = Object.assign(heldAgent(), { contextWindow: 200_000 });
    const ended = compress(home, id, agent);
    const held = await agent.asked();
    const again = await home.restart();
    held.send({ type: "text", text: SUMMARY });
    held.end();
    await expect(ended).rejects.toMatchObject({ code: "closed" });
    expect(await readVisible(again, id)).toEqual(before);
    expect((await again.sessions.get(me, id))?.usage).toMatchObject({
      inputTokens: 0,
      lastPromptTokens: 180_000,
    });
    expect((await compress(again, id, summing(200_000)))?.outcome).toBe("compressed");
  });
});
