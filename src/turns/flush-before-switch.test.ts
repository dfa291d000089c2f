import { expect, it } from "vitest";
import { me } from "../../test/support/talking.ts";
import { openHome } from "../../test/support/test-home.ts";
import { localSource } from "../core/source.ts";
import { flushBeforeSwitch } from "./flush-before-switch.ts";

async function openScene() {
  const home = await openHome();
  const { sessions, store, clock } = home;
  const { session, conversation } = await sessions.open(localSource());
  const others = await sessions.create(me, { kind: "chat" });
  for (const text of ["one", "two", "three", "four"])
    await sessions.append(me, session.id, { role: "user", text });
  const talk = { findCurrent: async () => ({ session, conversation }) };
  const mark = async (id: string): Promise<void> =>
    void (await store.memory.requestFlush({ session: id, now: clock.now() }));
  const isMarked = async (): Promise<boolean> =>
    (await store.memory.claimFlush({ runner: "r", now: clock.now() }))?.session === session.id;
  return {
    sessions,
    talk,
    mark,
    isMarked,
    conversation: conversation.number,
    here: session.id,
    others: others.id,
  };
}

it.each(["reset", "switchTo"] as const)(
  "a session is marked for the memory before %s switches away from it, so that a crash in between loses nothing",
  async (step) => {
    const { sessions, talk, mark, isMarked, conversation, others } = await openScene();
    const falls = async (): Promise<never> => {
      throw new Error("the process crashed");
    };
    const left = flushBeforeSwitch({ ...sessions, [step]: falls }, talk, mark);
    const going = step === "reset" ? left.reset(me, conversation) : left.switchTo(me, conversation, others);
    await expect(going).rejects.toThrow("the process crashed");
    expect(await isMarked()).toBe(true);
  },
);

it("a switch to the current session marks nothing", async () => {
  const { sessions, talk, mark, isMarked, conversation, here } = await openScene();
  await flushBeforeSwitch(sessions, talk, mark).switchTo(me, conversation, here);
  expect(await isMarked()).toBe(false);
});
