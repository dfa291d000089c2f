import { buildRouting, localRunner } from "../../src/index.ts";
import { me, NOW, type TestHome, testHome } from "./command.ts";
import { settings } from "./routing.ts";

export const HOUR = 3_600_000;
export const DAY: number = 24 * HOUR;

export interface Furnished extends TestHome {
  /** Handles. `plans` has messages with all fields, and undone ones. */
  readonly plans: string;
  readonly plansId: string;
  /** Of another person, in a Telegram group: one message answered and sent, one pending. */
  readonly group: string;
  /** Ended 100 days ago. */
  readonly old: string;
}

/** A home with sessions of all kinds. */
export async function furnishedHome(): Promise<Furnished> {
  const home = testHome();
  const made = await home.fill(async ({ sessions, store, at }) => {
    at(NOW - 100 * DAY);
    const old = await sessions.open({ platform: "local", chatId: "cli", chatName: "CLI terminal" });
    await sessions.append(me, old.session.id, { role: "user", text: "データベース設計について" });
    await sessions.reset(me, old.conversation.number);

    at(NOW - 2 * HOUR);
    const plans = await sessions.create(me, { title: "holiday plans", cwd: "/tmp", config: { a: 1 } });
    await sessions.append(me, plans.id, [
      {
        role: "user",
        parts: [
          { type: "text", text: "A walk to the lighthouse\nat night: 夜景" },
          { type: "image", mimeType: "image/png", name: "map.png", data: new Uint8Array([1, 2, 3]) },
          { type: "resource", uri: "file:///tmp/notes.txt" },
        ],
        origin: { platform: "local", platformMessageId: "1", userName: "Ada" },
        extra: { any: ["thing"] },
      },
      {
        role: "assistant",
        text: "Let me look.",
        reasoning: "hm",
        finishReason: "tool_calls",
        tokens: 3,
        toolCalls: [{ id: "c1", name: "read_file", arguments: { path: "tides.txt" } }],
      },
      { role: "tool", toolCallId: "c1", toolName: "read_file", text: "high tide 21:04\n".repeat(100) },
      { role: "assistant", text: "High tide is at 21:04." },
      { role: "user", text: "never mind the café" },
    ]);
    await sessions.recordUsage(me, plans.id, {
      inputTokens: 1200,
      outputTokens: 34,
      costUsd: 0.0123,
      model: "m1",
    });
    await sessions.undo(me, plans.id);
    await sessions.hold(me, plans.id, "export", HOUR);

    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: NOW });
    const said = (messageId: string, text: string, claim: boolean) =>
      store.inbox.accept({
        ...buildRouting(
          { platform: "telegram", chatType: "group", chatId: "-100", userId: "42", userName: "Bob" },
          settings,
        ),
        now: NOW - HOUR,
        messageId,
        message: {
          role: "user",
          parts: [{ type: "text", text }],
          origin: { platform: "telegram", platformMessageId: messageId },
        },
        ...(claim && { claim: { runner: runner.id, take: "one" as const } }),
      });
    const first = await said("17", "hello everyone", true);
    if (first.duplicate || first.tooMany !== undefined || first.turn === undefined)
      throw new Error("the session was not free");
    await said("18", "are you there?", false);
    await store.turns.finish({
      turn: first.turn.number,
      fence: first.turn.fence,
      outcome: "done",
      messages: [{ role: "assistant", parts: [{ type: "text", text: "hello Bob" }] }],
      deliveries: [
        { target: first.turn.target, parts: [{ type: "text", text: "hello Bob" }], sendNow: true },
      ],
      now: NOW - HOUR + 1000,
    });
    return {
      plans: plans.handle,
      plansId: plans.id,
      group: first.session.handle,
      old: old.session.handle,
    };
  });
  return { ...home, ...made };
}
