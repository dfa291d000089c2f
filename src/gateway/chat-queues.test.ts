import { describe, expect, it } from "vitest";
import { chatQueues, type QueueStep } from "./chat-queues.ts";

type Step = readonly string[];

/** Queues whose steps are done one by one, when the test says so. */
function held(together = 2, most = 4) {
  const steps: { readonly items: Step; readonly end: PromiseWithResolvers<QueueStep> }[] = [];
  const overflowed: string[] = [];
  const failures: unknown[] = [];
  const queues = chatQueues<string>({
    batchSize: together,
    maxQueued: most,
    take(items) {
      const end = Promise.withResolvers<QueueStep>();
      steps.push({ items, end });
      return end.promise;
    },
    async onOverflow(item) {
      overflowed.push(item);
    },
    onError: (error) => failures.push(error),
  });
  const tick = (): Promise<void> => new Promise(setImmediate);
  return {
    queues,
    overflowed,
    failures,
    begun: () => steps.map(({ items }) => items),
    /** Ends the n-th step. */
    async end(number: number, step?: QueueStep): Promise<void> {
      const one = steps[number - 1];
      one?.end.resolve(step ?? { taken: one.items.length });
      await tick();
    },
    async fail(number: number, error: Error): Promise<void> {
      steps[number - 1]?.end.reject(error);
      await tick();
    },
  };
}

describe("the queues of chats", () => {
  it("take a bounded number of one chat's items at a time, in order, and another chat's beside them", async () => {
    const { queues, begun, end } = held();
    const stored = ["1", "2", "3", "4"].map((item) => queues.add("flood", item));
    void queues.add("other", "honest");
    expect(begun()).toEqual([["1"], ["honest"]]);
    await end(1);
    expect(begun().slice(2)).toEqual([["2", "3"]]);
    await end(3, { taken: 1 });
    expect(begun().slice(3)).toEqual([["3", "4"]]);
    await end(4);
    await Promise.all(stored);
  });

  it("wait for what is still to be done with an item before they take the next of its chat", async () => {
    const { queues, begun, end } = held();
    const after = Promise.withResolvers<void>();
    const first = queues.add("chat", "/new");
    void queues.add("chat", "hello");
    await end(1, { taken: 1, after: after.promise });
    await first;
    expect(begun()).toEqual([["/new"]]);
    after.resolve();
    await end(2);
    expect(begun()).toEqual([["/new"], ["hello"]]);
  });

  it("reject what is behind an item that was not stored, and nothing of other chats; later ones are taken", async () => {
    const { queues, begun, fail, end, failures } = held();
    const error = new Error("the disk is full");
    const settled = Promise.allSettled(["1", "2", "3"].map((item) => queues.add("chat", item)));
    const other = queues.add("other", "a");
    await fail(1, error);
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(failures).toEqual([error]);
    await end(2);
    await other;
    void queues.add("chat", "1");
    expect(begun().at(-1)).toEqual(["1"]);
  });

  it("hold no more than their bound", async () => {
    const { queues, overflowed, end } = held(4, 4);
    const added = ["1", "2", "3", "4", "5", "6"].map((item) => queues.add("chat", item));
    expect(overflowed).toEqual(["5", "6"]);
    await end(1);
    await end(2);
    await Promise.all(added);
  });
});
