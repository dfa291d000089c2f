import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectFakeTelegram, type FakeTelegram, startFakeTelegram } from "./index.ts";

async function started(options: Parameters<typeof startFakeTelegram>[0] = {}): Promise<FakeTelegram> {
  const fake = await startFakeTelegram(options);
  onTestFinished(() => fake.close());
  return fake;
}

interface Answer {
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error_code?: number;
  readonly description?: string;
  readonly parameters?: unknown;
}

async function call(
  { url, token }: Pick<FakeTelegram, "url" | "token">,
  method: string,
  payload: object = {},
): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/bot${token}/${method}`, {
    method: "POST",
    headers,
    body: JSON.stringify(payload),
  });
  return (await response.json()) as Answer;
}

const idsIn = (answer: Answer): number[] =>
  (answer.result as { update_id: number }[]).map(({ update_id: id }) => id);

describe("updates", () => {
  it("are returned again until a later offset confirms them", async () => {
    const fake = await started();
    const dm = await fake.openDm(7);
    await fake.say(dm, 7, "one");
    await fake.say(dm, 7, "two");
    const ids = idsIn(await call(fake, "getUpdates"));
    expect(idsIn(await call(fake, "getUpdates"))).toEqual(ids);
    expect(idsIn(await call(fake, "getUpdates", { offset: ids[1] }))).toEqual(ids.slice(1));
    expect(idsIn(await call(fake, "getUpdates", { offset: (ids[1] ?? 0) + 1 }))).toEqual([]);
    expect(await fake.pending()).toBe(0);
  });

  it("end a long poll", async () => {
    const fake = await started();
    const dm = await fake.openDm(7);
    const held = call(fake, "getUpdates", { timeout: 50 });
    await fake.untilIdle();
    await fake.say(dm, 7, "hello");
    expect(idsIn(await held)).toHaveLength(1);
  });

  it("go to the newest poll; an older one gets an error", async () => {
    const fake = await started();
    const first = call(fake, "getUpdates", { timeout: 50 });
    await fake.untilIdle();
    const second = call(fake, "getUpdates", { timeout: 50 });
    expect(await first).toMatchObject({ ok: false, error_code: 409 });
    await fake.say(await fake.openDm(7), 7, "hello");
    expect((await second).ok).toBe(true);
  });

  it("belong to one bot, and need its token", async () => {
    const accounts = [
      { token: "1:a", username: "one_bot" },
      { token: "2:b", username: "two_bot" },
    ];
    const fake = await started({ accounts });
    await fake.say(await fake.openDm(7), 7, "to the first");
    const other = fake.as("2:b");
    await other.say(await other.openDm(7), 7, "to the second");
    for (const [token, words] of [
      ["1:a", "to the first"],
      ["2:b", "to the second"],
    ] as const) {
      expect(await call({ url: fake.url, token }, "getUpdates")).toMatchObject({
        result: [{ message: { text: words } }],
      });
    }
    expect(await call({ url: fake.url, token: "3:c" }, "getMe")).toMatchObject({ error_code: 401 });
  });

  it("come twice on request, with the same probability for the same seed", async () => {
    const counts = [];
    for (let time = 0; time < 2; time += 1) {
      const fake = await started();
      await fake.setFaults({ seed: 5, duplicateUpdates: 0.5 });
      const dm = await fake.openDm(7);
      for (let n = 0; n < 20; n += 1) await fake.say(dm, 7, String(n));
      counts.push(await fake.pending());
    }
    expect(counts[0]).toBe(counts[1]);
    expect(counts[0]).toBeGreaterThan(20);
    expect(counts[0]).toBeLessThan(40);
  });
});

describe("a message of a bot", () => {
  it.each([
    ["<b>bold", "Can't find end tag"],
    ["<i>a</b>", "Unmatched end tag"],
    ["</b>", "Unexpected end tag"],
    ["<p>x</p>", 'Unsupported start tag "p"'],
    ["a < b", "malformed start tag"],
    ["<a>x</a>", 'must have attribute "href"'],
  ])("%j cannot be read as HTML", async (text, problem) => {
    const fake = await started();
    const chat_id = await fake.openDm(7);
    const answer = await call(fake, "sendMessage", { chat_id, text, parse_mode: "HTML" });
    expect(answer).toMatchObject({ ok: false, error_code: 400 });
    expect(answer.description).toContain("can't parse entities");
    expect(answer.description).toContain(problem);
    expect(await fake.messages(chat_id)).toEqual([]);
  });

  it("is measured by its visible text", async () => {
    const fake = await started();
    const chat_id = await fake.openDm(7);
    const send = (text: string) => call(fake, "sendMessage", { chat_id, text, parse_mode: "HTML" });
    expect((await send(`<b>${"&lt;".repeat(4096)}</b>`)).ok).toBe(true);
    expect(await send("x".repeat(4097))).toMatchObject({ description: "Bad Request: message is too long" });
  });

  it("is kept or dropped when the connection is cut, as requested", async () => {
    const fake = await started();
    const chat_id = await fake.openDm(7);
    for (const kind of ["dropAfter", "cut"] as const) {
      await fake.failNext("sendMessage", { kind });
      await expect(call(fake, "sendMessage", { chat_id, text: kind })).rejects.toThrow("fetch failed");
    }
    expect((await fake.messages(chat_id)).map(({ text }) => text)).toEqual(["dropAfter"]);
  });

  it("is limited by the flood control of a chat", async () => {
    let now = 1_000_000;
    const fake = await started({ now: () => now });
    await fake.setFlood(3000);
    const chat_id = await fake.openDm(7);
    const send = () => call(fake, "sendMessage", { chat_id, text: "x" });
    expect((await send()).ok).toBe(true);
    now += 1500;
    expect(await send()).toMatchObject({ error_code: 429, parameters: { retry_after: 2 } });
    now += 1500;
    expect((await send()).ok).toBe(true);
  });
});

describe("a call of a bot", () => {
  it("is recorded with its time and its outcome", async () => {
    const fake = await started({ now: () => 5000 });
    const chat_id = await fake.openDm(7);
    await fake.setFlood(1000);
    await call(fake, "sendMessage", { chat_id, text: "one" });
    await call(fake, "editMessageText", { chat_id, message_id: 1, text: "two" });
    await fake.setFlood(0);
    await fake.failNext("sendMessage", { kind: "dropAfter" });
    await expect(call(fake, "sendMessage", { chat_id, text: "three" })).rejects.toThrow("fetch failed");
    const done = (await fake.calls()).map(({ payload: _, ...rest }) => rest);
    expect(done).toEqual([
      { method: "sendMessage", at: 5000 },
      { method: "editMessageText", at: 5000, refused: 429 },
      { method: "sendMessage", at: 5000, isDropped: true },
    ]);
  });

  it("can fail only when a message is sent", async () => {
    const fake = await started();
    const chat_id = await fake.openDm(7);
    await fake.setFaults({ dropSends: 1 });
    expect((await call(fake, "getMe")).ok).toBe(true);
    expect((await call(fake, "sendChatAction", { chat_id, action: "typing" })).ok).toBe(true);
    await expect(call(fake, "sendMessage", { chat_id, text: "one" })).rejects.toThrow("fetch failed");
    expect(await fake.untilShown(chat_id, "one")).toMatchObject({ by: "bot", text: "one" });
  });
});

describe("the fake in a separate process", () => {
  it("is controlled over HTTP, keeps bytes unchanged, and reports errors", async () => {
    const program = new URL("../../../test/support/fake-telegram-process.ts", import.meta.url);
    const child = spawn(process.execPath, [program.pathname, "5:t", "far_bot"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const { controlUrl, url } = JSON.parse(line) as { controlUrl: string; url: string };
    const fake = await connectFakeTelegram(controlUrl);
    expect([fake.url, fake.token]).toEqual([url, "5:t"]);
    const dm = await fake.openDm(7);
    await fake.sendPhoto(dm, 7, new Uint8Array([0, 255]));
    const [message] = await fake.messages(dm);
    expect(await fake.file(message?.files[0]?.id ?? "")).toEqual(new Uint8Array([0, 255]));
    const answered = fake.untilAnswered(dm, 1);
    await call(fake, "sendMessage", { chat_id: dm, text: "hello" });
    await answered;
    await expect(fake.messages(99)).rejects.toThrow("There is no chat 99 here.");
    await expect(fake.as("6:x").chats()).rejects.toThrow("There is no bot with this token.");
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
  });
});
