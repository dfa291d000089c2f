import type { Store } from "../../src/ports/store.ts";

/** Stores a delivery that is deferred after repeated errors of the platform. */
export async function asideDelivery(store: Store, session: string, now: number): Promise<number> {
  const target = { platform: "telegram", chatType: "dm", chatId: "42", userId: "42" };
  const parts = [{ type: "text" as const, text: "a chart" }];
  const made = await store.outbox.enqueue({ deliveries: [{ target, parts }], session, runner: "", now });
  const delivery = made.deliveries[0]?.number ?? 0;
  await store.outbox.beginDelivery({ delivery, runner: "", now });
  const error = "Telegram said: Internal Server Error";
  await store.outbox.settle({
    delivery,
    outcome: { state: "waiting", nextAt: now, error, failed: true, deferred: true },
    now,
  });
  return delivery;
}
