import { expect, it } from "vitest";
import { DAY, HOUR, type Home, MINUTE, openHome, START } from "../../test/support/test-home.ts";
import { activityLimiter } from "./limit-activity.ts";

const from = { platform: "telegram", chatId: "7", userId: "7" };

/** Advances the time minute by minute, and calls the limiter as the gateway does. */
async function pass({ clock }: Home, limit: () => Promise<void>, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= MINUTE) {
    clock.pass(MINUTE);
    await limit();
  }
}

it("a conversation that was active while the clock was days ahead is reset by its policy again", async () => {
  const home = await openHome();
  const { clock, sessions, store } = home;
  clock.time = START + 30 * DAY;
  const { session } = await sessions.open(from);
  await sessions.append({ person: session.owner }, session.id, { role: "user", text: "hello" });
  clock.time = START;
  const limit = activityLimiter({ store, clock });
  await pass(home, limit, 59 * MINUTE);
  expect((await sessions.open(from)).conversation.activeAt).toBeGreaterThan(START + 29 * DAY);
  await pass(home, limit, 2 * MINUTE);
  await pass(home, limit, 25 * HOUR);
  expect((await sessions.open(from)).session.id).not.toBe(session.id);
});

it("a clock that starts years behind, and is corrected within the hour, resets no conversation", async () => {
  const home = await openHome();
  const { clock, sessions, store } = home;
  const { session } = await sessions.open(from);
  await sessions.append({ person: session.owner }, session.id, { role: "user", text: "hello" });
  clock.time = 0;
  const limit = activityLimiter({ store, clock });
  await pass(home, limit, 50 * MINUTE);
  clock.time = START + HOUR;
  await pass(home, limit, 50 * MINUTE);
  expect((await sessions.open(from)).session.id).toBe(session.id);
});
