import { describe, expect, it } from "vitest";
import { look } from "../../test/support/database.ts";
import {
  anthropicAnswer,
  callBlock,
  providerServer,
  textBlock,
  thinkingBlock,
} from "../../test/support/provider-server.ts";
import { deadRunner, me } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { model } from "../agents/model/model.ts";
import { script } from "../agents/script.ts";
import { PostriderError } from "../core/errors.ts";
import { getText, type Message, textPart } from "../core/message.ts";
import type { AnswerDraft, Turn } from "../core/turn.ts";
import type { AgentEvent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import { localRunner } from "../system/local-runner.ts";
import { activeTurns } from "./active-turns.ts";
import { runTurn } from "./run-turn.ts";
import type { TurnContext, TurnHooks } from "./turn-hooks.ts";

const never = new AbortController().signal;

/** A turn that was asked for in an editor. */
async function begin(home: Home, words: string, runner = localRunner()): Promise<Turn> {
  const { store, clock } = home;
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const accepted = await store.inbox.accept({
    source: { platform: "acp", chatId: "thread", chatType: "dm" },
    profile: "main",
    scope: { groupsPerUser: true, threadsPerUser: true },
    reset: {},
    newSession: { id: "thread", kind: "editor" },
    messageId: words,
    message: { role: "user", parts: [textPart(words)] },
    claim: { runner: runner.id, take: "one", own: true },
    now: clock.now(),
  });
  if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
    throw new Error("the turn has not begun");
  return accepted.turn;
}

type RunOptions = Partial<TurnContext> & TurnHooks;

function run({ store, clock }: Home, turn: Turn, say: unknown, options: RunOptions = {}) {
  const agent = script({ answers: [{ say }] });
  const context = { store, clock, agent, claimNext: () => undefined, signal: never, ...options };
  return runTurn(turn, context, { writeAhead: true, ...options });
}

/** The stored parts of the answer: whole messages, then the draft. */
function readStored({ file }: Home): string {
  return look(file, (db) => {
    const messages = db
      .prepare("select coalesce(text, '') || coalesce(meta, '') from messages order by id")
      .pluck();
    const said = db.prepare("select said from turns where state = 'running'").pluck().get();
    return [...messages.all(), said ?? ""].join("\n");
  });
}

const listTexts = (event: AgentEvent): string[] => {
  if (event.type === "text" || event.type === "thought") return [event.text];
  if (event.type === "plan") return event.entries.map((entry) => entry.text);
  if (event.type === "tool_call") return [event.call.id];
  return event.type === "tool_result"
    ? event.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
    : [];
};

const EVERYTHING = [
  { think: "thinking-1" },
  "text-1",
  { wait_ms: 60 },
  "text-2",
  { think: "thinking-2" },
  { plan: ["plan-1"] },
  { plan: ["plan-2"] },
  "text-3",
  { tool: "read", result: "result-1" },
  { tool: "write", effect: "external", result: "result-2" },
  { message: true },
  { wait_ms: 60 },
  "text-4",
  { plan: ["plan-3"] },
];

describe("an answer in an editor", () => {
  it("is shown in the order of its events, and no event before it is stored", async () => {
    const home = await openHome();
    const turn = await begin(home, "go");
    const shown: string[] = [];
    const missing: string[] = [];
    await run(home, turn, EVERYTHING, {
      onEvent(event) {
        const stored = readStored(home);
        shown.push(...listTexts(event));
        missing.push(...listTexts(event).filter((word) => !stored.includes(word)));
      },
    });
    expect(missing).toEqual([]);
    expect(shown).toEqual([
      ...["thinking-1", "text-1", "text-2", "thinking-2", "plan-1", "plan-2", "text-3"],
      ...["script-1-1", "result-1", "script-1-2", "result-2", "text-4", "plan-3"],
    ]);
  });

  it("goes back to the model as one response, though it is stored as several messages", async () => {
    const home = await openHome();
    const tool = {
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      effect: "none",
      run: async () => ({ parts: [textPart("seen")] }),
    } as const;
    const server = await providerServer(
      anthropicAnswer(
        thinkingBlock("First.", "sig-1"),
        textBlock("I begin."),
        thinkingBlock("Second.", "sig-2"),
        textBlock("I look."),
        callBlock("c1", "look", {}),
        callBlock("c2", "look", {}),
      ),
      anthropicAnswer(textBlock("Here.")),
    );
    const agent = model(
      { provider: "anthropic", model: "claude-sonnet-4-5", apiKey: "k", baseUrl: server.url },
      { retries: 0 },
    );
    const seen: string[] = [];
    const more: RunOptions = {
      agent,
      prepare: async () => ({ tools: [tool] }),
      onEvent: ({ type }) => void seen.push(type),
    };
    const first = await begin(home, "go");
    expect(await run(home, first, [], more)).toMatchObject({ outcome: "done" });
    const history = (await home.sessions.history(me, first.session)) ?? [];
    expect(history.filter(({ role }) => role === "assistant").map(getText)).toEqual([
      "I begin.",
      "I look.",
      "",
      "Here.",
    ]);
    await run(home, await begin(home, "more"), [], more);
    const [, second, third] = server.bodies.map(({ messages }) =>
      JSON.parse(JSON.stringify(messages, (key, value) => (key === "cache_control" ? undefined : value))),
    );
    expect(third.slice(0, 3)).toEqual(second);
    expect(second[1].content.map(({ type }: { readonly type: string }) => type)).toEqual([
      "thinking",
      "text",
      "thinking",
      "text",
      "tool_use",
      "tool_use",
    ]);
    expect(seen).not.toContain("model_part");
  });

  it("is stored as messages in the order of its events", async () => {
    const home = await openHome();
    const turn = await begin(home, "go");
    await run(home, turn, EVERYTHING);
    const history = (await home.sessions.history(me, turn.session)) ?? [];
    const contents = history
      .slice(1)
      .map(({ reasoning, parts, extra, toolCalls }) => [
        reasoning,
        getText({ parts }) || undefined,
        (extra?.plan as { text: string }[] | undefined)?.[0]?.text,
        toolCalls?.[0]?.name,
      ]);
    expect(contents.map((parts) => parts.filter((part) => part !== undefined).join(" "))).toEqual([
      "thinking-1 text-1text-2",
      "thinking-2 plan-1",
      "plan-2",
      "text-3 read",
      "result-1",
      "write",
      "result-2",
      "text-4 plan-3",
    ]);
  });

  it("needs few commits, however many text events it has", async () => {
    const home = await openHome();
    const turn = await begin(home, "go");
    const kept: AnswerDraft[] = [];
    const store: Store = {
      ...home.store,
      turns: {
        ...home.store.turns,
        async saveDraft(input) {
          kept.push(input.answerDraft);
          return home.store.turns.saveDraft(input);
        },
      },
    };
    const shown: string[] = [];
    await run(home, turn, [{ repeat: 1000, say: ["word "] }], {
      store,
      onEvent: (event) => shown.push(...listTexts(event)),
    });
    expect(shown.join("")).toBe("word ".repeat(1000));
    expect(kept.length).toBeLessThan(10);
  });

  it("that a crash interrupted keeps its text so far, whichever process recovers it, and the agent does not run again", async () => {
    const home = await openHome();
    const turn = await begin(home, "go", deadRunner());
    const { number, fence } = turn;
    const said = { text: "Once upon", thought: "hm", plan: [{ text: "tell", state: "pending" as const }] };
    expect(await home.store.turns.saveDraft({ turn: number, fence, answerDraft: said })).toEqual({
      kept: true,
    });
    const runner = localRunner();
    await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
    const again = await home.store.turns.claim({
      session: turn.session,
      runner: runner.id,
      take: "one",
      now: home.clock.now(),
    });
    expect(again).toMatchObject({ attempt: 2, answerDraft: said });
    const end = await run(home, again as Turn, ["asked again"], { writeAhead: false });
    expect(end).toMatchObject({ outcome: "interrupted", text: "Once upon" });
    const history: readonly Message[] = (await home.sessions.history(me, turn.session)) ?? [];
    expect(history.at(-1)).toMatchObject({
      parts: [textPart("Once upon")],
      reasoning: "hm",
      extra: { plan: said.plan },
      origin: { interrupted: true },
    });
  });

  it("has nothing twice when a crash follows the storing of a message, however slow the disk is", async () => {
    const home = await openHome();
    const turn = await begin(home, "go");
    const store: Store = {
      ...home.store,
      messages: {
        ...home.store.messages,
        async append(input) {
          const appended = await home.store.messages.append(input);
          await new Promise((resolve) => setTimeout(resolve, 100)); // longer than the interval between drafts
          return appended;
        },
      },
    };
    const twice: string[] = [];
    // So many text events that some are pending when the message ends.
    const pieces = (name: string) => [1, 2, 3, 4, 5, 6].flatMap((at) => [`${name}-${at}`, { wait_ms: 7 }]);
    const tool = { tool: "read", result: "result-1" };
    const say = [...pieces("one"), tool, ...pieces("two"), { message: true }, ...pieces("three")];
    await run(home, turn, say, {
      store,
      onEvent(event) {
        const stored = readStored(home);
        twice.push(...listTexts(event).filter((word) => stored.split(word).length > 2));
      },
    });
    expect(twice).toEqual([]);
  });

  it("whose end could not be stored keeps the part that was shown when it runs again", async () => {
    const home = await openHome();
    const turn = await begin(home, "go");
    let isBroken = true;
    const store: Store = {
      ...home.store,
      turns: {
        ...home.store.turns,
        async finish(input) {
          if (isBroken) throw new PostriderError("internal", "no");
          return home.store.turns.finish(input);
        },
      },
    };
    const turns = activeTurns({
      store,
      clock: home.clock,
      agent: () => script({ answers: [{ say: ["Once ", { wait_ms: 100 }, "upon"] }] }),
      nextClaim: () => ({ runner: "nobody", take: "one" }),
      hooks: () => ({ writeAhead: true }),
      claimsNext: false,
      isOwn: () => true,
      onEvent: () => {},
    });
    await expect(turns.run(turn)).rejects.toMatchObject({ code: "internal" });
    isBroken = false;
    const again = turns.takeUnfinished(turn.session);
    expect(again?.attempt).toBe(2);
    expect(await turns.run(again as Turn)).toMatchObject({
      outcome: "interrupted",
      text: again?.answerDraft?.text,
    });
    expect(again?.answerDraft?.text).toMatch(/^Once /);
  });

  it("ends when another runner took it over, and shows nothing more", async () => {
    const home = await openHome();
    const turn = await begin(home, "go");
    const shown: string[] = [];
    const stale = { ...turn, fence: turn.fence - 1 };
    await expect(
      run(home, stale, ["one", { wait_ms: 60 }, "two"], {
        onEvent: (event) => shown.push(...listTexts(event)),
      }),
    ).rejects.toMatchObject({ code: "stale_fence" });
    expect(shown).toEqual([]);
  });
});
