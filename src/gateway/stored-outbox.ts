import { buildTextDeliveries } from "../turns/text-deliveries.ts";
import type { Outbox, OutboxOptions } from "./deliver.ts";

/** The outbox of a process without the connection: it stores deliveries, and the holder of the connection sends them. */
export function storedOutbox({
  store,
  platform,
  runner,
  clock,
}: Pick<OutboxOptions, "store" | "platform" | "runner" | "clock">): Outbox {
  const enqueue: Outbox["enqueue"] = async (_, deliveries, more = {}) => {
    await store.outbox.enqueue({ ...more, deliveries, runner, now: clock.now() });
  };
  return {
    sendText: (target, text, more) =>
      enqueue(target, buildTextDeliveries(target, text, { traits: platform.traits }), more),
    enqueue,
    reserve: () => ({ startFirst: (deliveries) => deliveries, commit() {} }),
    isIdle: () => true,
    schedule() {},
    async poll() {},
    async close() {},
  };
}
