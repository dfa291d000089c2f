import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { me } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import type { Store } from "../ports/store.ts";
import { cacheHistory } from "./cache-history.ts";

const all = { everyone: true } as const;

/** Counts the messages that are read. */
function countReads(store: Store): { readonly store: Store; read(): number } {
  let read = 0;
  const history: Store["messages"]["readHistory"] = async (input) => {
    const messages = await store.messages.readHistory(input);
    read += messages?.length ?? 0;
    return messages;
  };
  return { store: { ...store, messages: { ...store.messages, readHistory: history } }, read: () => read };
}

type Step = (home: Home, session: string) => Promise<unknown>;

const say: Step = ({ sessions }, id) =>
  sessions.append(me, id, [
    { role: "user", text: "question" },
    { role: "assistant", text: "answer" },
  ]);
const steps: Readonly<Record<string, Step>> = {
  say,
  sayMuch: async (home, id) => {
    for (let time = 0; time < 3; time += 1) await say(home, id);
  },
  undo: ({ sessions }, id) => sessions.undo(me, id),
  redo: ({ sessions }, id) => sessions.redo(me, id),
  compress: ({ sessions }, id) => sessions.compress(me, id, "in short", { keepLast: 1 }),
  rewrite: ({ sessions }, id) => sessions.rewrite(me, id, [{ role: "user", text: "other" }]),
  clear: ({ sessions }, id) => sessions.rewrite(me, id, []),
};

describe("a cached history", () => {
  it("equals the visible messages of the session, after any change", async () => {
    const home = await openHome();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...Object.keys(steps)), { maxLength: 12 }), async (names) => {
        const { id } = await home.sessions.create(me);
        const history = cacheHistory(home.store, id);
        for (const name of names) {
          await steps[name]?.(home, id).catch(() => {}); // there may be nothing to undo
          expect(await history()).toEqual(await home.store.messages.readHistory({ asker: all, session: id }));
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is read once, and then only new messages are read", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(me);
    const { store, read } = countReads(home.store);
    const history = cacheHistory(store, id);
    for (let time = 0; time < 50; time += 1) {
      await say(home, id);
      expect(await history()).toHaveLength(2 * (time + 1));
    }
    expect(read()).toBe(100);
  });

  it("is complete also when a message is removed between the two reads", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(me);
    await say(home, id);
    let isMeddling = false;
    const store: Store = {
      ...home.store,
      messages: {
        ...home.store.messages,
        async readHistory(input) {
          if (isMeddling) {
            isMeddling = false;
            await home.sessions.undo(me, id);
            await home.sessions.undo(me, id);
            await say(home, id);
            await say(home, id);
          }
          return home.store.messages.readHistory(input);
        },
      },
    };
    const history = cacheHistory(store, id);
    await history();
    await say(home, id);
    isMeddling = true;
    expect(await history()).toEqual(await home.store.messages.readHistory({ asker: all, session: id }));
  });
});
