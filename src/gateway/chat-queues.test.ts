import { describe, expect, it } from "vitest";
import { chatQueues, type QueueStep } from "./chat-queues.ts";

type Step = readonly string[];

/** Queues whose steps end when the test ends them. */
function openQueues(together = 2, most = 4) {
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
    listStarted: () => steps.map(({ items }) => items),
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
  it("process a bounded number of items of one chat at a time, in order, and other chats in parallel", async () => {
    const { queues, listStarted, end } = openQueues();
    const stored = ["1", "2", "3", "4"].map((item) => queues.add("flood", item));
    void queues.add("other", "honest");
    expect(listStarted()).toEqual([["1"], ["honest"]]);
    await end(1);
    expect(listStarted().slice(2)).toEqual([["2", "3"]]);
    await end(3, { taken: 1 });
    expect(listStarted().slice(3)).toEqual([["3", "4"]]);
    await end(4);
    await Promise.all(stored);
  });

  it("finish the work on an item before they process the next of its chat", async () => {
    const { queues, listStarted, end } = openQueues();
    const after = Promise.withResolvers<void>();
    const first = queues.add("chat", "/new");
    void queues.add("chat", "hello");
    await end(1, { taken: 1, after: after.promise });
    await first;
    expect(listStarted()).toEqual([["/new"]]);
    after.resolve();
    await end(2);
    expect(listStarted()).toEqual([["/new"], ["hello"]]);
  });

  it("reject the items behind one that was not stored, accept later ones, and do not affect other chats", async () => {
    const { queues, listStarted, fail, end, failures } = openQueues();
    const error = new Error("the disk is full");
    const settled = Promise.allSettled(["1", "2", "3"].map((item) => queues.add("chat", item)));
    const other = queues.add("other", "a");
    await fail(1, error);
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(failures).toEqual([error]);
    await end(2);
    await other;
    void queues.add("chat", "1");
    expect(listStarted().at(-1)).toEqual(["1"]);
  });

  it("hold a bounded number of items", async () => {
    const { queues, overflowed, end } = openQueues(4, 4);
    const added = ["1", "2", "3", "4", "5", "6"].map((item) => queues.add("chat", item));
    expect(overflowed).toEqual(["5", "6"]);
    await end(1);
    await end(2);
    await Promise.all(added);
  });
});
