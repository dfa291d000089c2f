import { describe, expect, it, vi } from "vitest";
import { model } from "../src/agents/model/model.ts";
import {
  addUsage,
  emptyUsage,
  sumByPurpose,
  sumUsage,
  type Usage,
  type UsageDelta,
  type UsagePurpose,
} from "../src/core/usage.ts";
import type { Source } from "../src/index.ts";
import { gatewayRoom } from "./support/gateway-room.ts";
import { modelServer } from "./support/model-server.ts";

const everyone = { everyone: true } as const;
const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2", userName: "Bob" };

/** The usage that the endpoint reports for its n-th request, always different. Every third has no cost. */
function report(n: number) {
  return {
    prompt_tokens: 100_000 * n + 700 * n,
    completion_tokens: 11 * n,
    total_tokens: 100_000 * n + 711 * n,
    prompt_tokens_details: { cached_tokens: 300 * n },
    completion_tokens_details: { reasoning_tokens: 7 * n },
    ...(n % 3 !== 0 && { cost: n / 64 }),
  };
}

/** The expected counters, computed here. */
function counted(n: number): UsageDelta {
  return {
    inputTokens: 100_000 * n + 400 * n,
    outputTokens: 11 * n,
    cacheReadTokens: 300 * n,
    reasoningTokens: 7 * n,
    ...(n % 3 !== 0 && { costUsd: n / 64, costStatus: "actual", costSource: "provider" }),
  };
}

const sum = (...numbers: readonly number[]): Usage =>
  numbers.map(counted).reduce<Usage>(addUsage, emptyUsage());

const remember = (text: string) => ({
  id: "c1",
  name: "memory",
  arguments: JSON.stringify({ action: "add", text }),
});

describe("the usage of a conversation with a model over HTTP", () => {
  it("equals the usage that the endpoint reported, by purpose, session, person and day", async () => {
    const server = await modelServer(
      { say: ["One."], usage: report(1) },
      { say: ["Two."], usage: report(2) },
      { say: ["In short."], usage: report(3) },
      { say: ["Three."], usage: report(4) },
      // The memory: a call of the tool, then the end.
      { say: [], calls: [remember("Ada likes the sea.")], usage: report(5) },
      { say: ["Done."], usage: report(6) },
      { say: ["Hello Bob."], usage: report(8) },
    );
    server.title = "A talk";
    server.titleUsage = report(7);
    const agent = model({ provider: "openrouter", model: "m", baseUrl: server.url, apiKey: "k" });
    const room = await gatewayRoom({ agent });
    const { store, clock } = room.home;
    const chat = room.chat(ada);
    const long = "x".repeat(4000);

    await chat.say(`first ${long}`);
    await chat.sent(1);
    const [session] = (await store.sessions.querySessions({ asker: everyone })).items;
    const id = session?.id ?? "";
    const usageOf = async () => (await store.sessions.find({ asker: everyone, text: id }))[0]?.usage;
    await vi.waitFor(async () => {
      expect((await store.sessions.find({ asker: everyone, text: id }))[0]?.title).toBe("A talk");
    }, 10_000);
    expect(await usageOf()).toMatchObject({ ...sum(1, 7), lastPromptTokens: 100_700 });
    await chat.say(`second ${long}`);
    await chat.sent(2);
    for (let n = 0; n < 4; n += 1) {
      // Only the exchanges before the last three are summarised.
      const messages = [
        { role: "user", parts: [{ type: "text", text: `q${n} ${long}` }] },
        { role: "assistant", parts: [{ type: "text", text: `a${n}` }] },
      ] as const;
      await store.messages.append({ asker: everyone, session: id, messages, now: clock.now() });
    }
    await chat.say("/compress");
    expect((await chat.texts(3)).at(-1)).toMatch(/^Summed up: /);
    expect((await usageOf())?.lastPromptTokens).toBe(0);
    clock.pass(60 * 60_000);
    await chat.say("third");
    await chat.sent(4);
    expect((await usageOf())?.lastPromptTokens).toBe(4 * 100_700);
    clock.pass(24 * 60 * 60_000);
    await chat.say("/new");
    await vi.waitFor(
      async () => expect((await usageOf())?.totalTokens).toBe(sum(1, 2, 3, 4, 5, 6, 7).totalTokens),
      10_000,
    );
    expect(server.requests).toHaveLength(6);

    const expected: Record<UsagePurpose, Usage> = {
      answer: sum(1, 2, 4),
      title: sum(7),
      flush: sum(5, 6),
      compress: sum(3),
    };
    const entries = (await store.sessions.listUsageEntries({ asker: everyone, session: id })) ?? [];
    expect(Object.fromEntries(sumByPurpose(entries).map(({ purpose, usage }) => [purpose, usage]))).toEqual(
      expected,
    );
    const { lastPromptTokens, model: name, provider, baseUrl, ...all } = (await usageOf()) ?? {};
    expect({ ...all, lastPromptTokens: 0 }).toEqual(sum(1, 2, 3, 4, 5, 6, 7));
    expect([lastPromptTokens, name, provider, baseUrl]).toEqual([402_800, "m", "openrouter", server.url]);

    const other = room.chat(bob);
    await other.say("hello");
    await other.sent(1);
    await vi.waitFor(async () => {
      const { usage } = await store.sessions.getInsights({ asker: everyone, since: 0 });
      expect(usage).toEqual(sum(1, 2, 3, 4, 5, 6, 7, 8, 7));
    }, 10_000);
    const people = (await store.sessions.querySessions({ asker: everyone })).items.map(({ owner }) => owner);
    const [bobs = "", adas = ""] = [...new Set(people)];
    const used = async (person: string) =>
      (await store.sessions.getInsights({ asker: { person }, since: 0 })).usage;
    expect([await used(adas), await used(bobs)]).toEqual([sum(1, 2, 3, 4, 5, 6, 7), sum(8, 7)]);
    const { usageByDay, usage } = await store.sessions.getInsights({
      asker: everyone,
      since: 0,
      zone: "UTC",
    });
    expect(usageByDay.map((day) => day.usage)).toEqual([sum(1, 2, 3, 4, 7), sum(5, 6, 8, 7)]);
    expect(sumUsage(usageByDay.map((day) => day.usage))).toEqual(usage);

    await chat.say(`/resume ${session?.handle}`);
    await chat.sent(6);
    await chat.say("/usage");
    const table = (await chat.texts(7)).at(-1) ?? "";
    const { answer, title, flush, compress } = expected;
    const whole = sum(1, 2, 3, 4, 5, 6, 7);
    const cells = [whole, answer, title, flush, compress].map((one) =>
      one.totalTokens.toLocaleString("en-US"),
    );
    expect(table).toContain("| all | answers | titles | memory | summaries |");
    expect(table).toContain(`| **total** | ${cells.map((cell) => `**${cell}**`).join(" | ")} |`);
    expect(table).toContain(
      `| cost | at least $${((1 + 2 + 4 + 5 + 7) / 64).toFixed(4)} (partial) | $${(7 / 64).toFixed(4)} (actual) |`,
    );
  });

  it("counts a request that failed, was stopped or gave no result, if the endpoint reported it", async () => {
    const server = await modelServer(
      { say: ["One."], usage: report(1) },
      { say: [""], usage: report(2) },
      { say: [], calls: [remember("x")], finish: "length", usage: report(3) },
    );
    const agent = model({ provider: "openrouter", model: "m", baseUrl: server.url, apiKey: "k" });
    const room = await gatewayRoom({ agent });
    const { store } = room.home;
    const chat = room.chat(ada);
    await chat.say("first");
    await chat.sent(1);
    const [session] = (await store.sessions.querySessions({ asker: everyone })).items;
    const messages = Array.from({ length: 8 }, (_, n) => ({
      role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
      parts: [{ type: "text" as const, text: "x".repeat(2000) }],
    }));
    await store.messages.append({
      asker: everyone,
      session: session?.id ?? "",
      messages,
      now: room.home.clock.now(),
    });
    await chat.say("/compress");
    expect((await chat.texts(2)).at(-1)).toContain("could not be summed up");
    await chat.say("act");
    await chat.sent(3);
    const entries =
      (await store.sessions.listUsageEntries({ asker: everyone, session: session?.id ?? "" })) ?? [];
    expect(sumByPurpose(entries)).toEqual([
      { purpose: "answer", usage: sum(1, 3) },
      { purpose: "compress", usage: sum(2) },
    ]);
  });
});
