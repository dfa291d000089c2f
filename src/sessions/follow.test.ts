import { describe, expect, it } from "vitest";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { getText, type Message } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import type { FollowOptions } from "./follow.ts";

const who = { person: OWNER };

function follow({ sessions }: Home, id: string, options: FollowOptions = {}): AsyncIterator<Message> {
  return sessions.follow(who, id, options)[Symbol.asyncIterator]();
}

/** The next `count` texts. */
async function take(reader: AsyncIterator<Message>, count: number): Promise<string[]> {
  const texts: string[] = [];
  while (texts.length < count) {
    const { value, done } = await reader.next();
    if (done) break;
    texts.push(getText(value));
  }
  return texts;
}

const say = ({ sessions }: Home, id: string, ...texts: string[]) =>
  sessions.append(
    who,
    id,
    texts.map((text) => ({ role: "user" as const, text })),
  );

describe("following a session", () => {
  it("yields the messages after the call, in order, each once", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    await say(home, id, "before");
    const reader = follow(home, id);
    await say(home, id, "one", "two");
    expect(await take(reader, 2)).toEqual(["one", "two"]);
    const waiting = take(reader, 3);
    await Promise.all([say(home, id, "three"), say(home, id, "four"), say(home, id, "five")]);
    expect(await waiting).toEqual(["three", "four", "five"]);
    await reader.return?.();
  });

  it("continues after the last seq of a reader, and misses nothing", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    await say(home, id, "1", "2", "3");
    const first = follow(home, id, { after: 0 });
    expect(await take(first, 2)).toEqual(["1", "2"]);
    await first.return?.();
    await say(home, id, "4");
    const later = await home.restart();
    const second = follow(later, id, { after: 2 });
    expect(await take(second, 2)).toEqual(["3", "4"]);
    await second.return?.();
  });

  it("yields a long history in order", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    const texts = Array.from({ length: 600 }, (_, i) => `${i}`);
    await say(home, id, ...texts);
    const reader = follow(home, id, { after: 0 });
    expect(await take(reader, 600)).toEqual(texts);
    const next = take(reader, 1);
    await say(home, id, "last");
    expect(await next).toEqual(["last"]);
    await reader.return?.();
  });

  it("yields all messages, shown or not", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    const reader = follow(home, id);
    await say(home, id, "one");
    await home.sessions.undo(who, id);
    await say(home, id, "two");
    await home.sessions.compress(who, id, "sum");
    expect(await take(reader, 3)).toEqual(["one", "two", "sum"]);
    await reader.return?.();
  });

  it("ends when it is aborted: while it waits, between two messages, and before the start", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    const stop = new AbortController();
    const waiting = follow(home, id, { signal: stop.signal });
    const between = follow(home, id, { after: 0, signal: stop.signal });
    const next = waiting.next();
    await say(home, id, "one", "two");
    expect((await next).done).toBe(false);
    expect(await take(between, 1)).toEqual(["one"]);
    const second = waiting.next();
    await second;
    const third = waiting.next();
    stop.abort();
    expect((await third).done).toBe(true);
    expect((await between.next()).done).toBe(true);
    expect((await follow(home, id, { after: 0, signal: stop.signal }).next()).done).toBe(true);
  });

  it("yields messages of another process", async () => {
    for (const mode of ["in-process", "workers"] as const) {
      const home = await openHome({ mode });
      const other = await home.again();
      const { id } = await home.sessions.create(who);
      const reader = follow(home, id);
      const next = take(reader, 3);
      await say(other, id, "from there");
      await say(home, id, "from here");
      await say(other, id, "and there again");
      expect(await next).toEqual(["from there", "from here", "and there again"]);
      await reader.return?.();
    }
  });

  it("serves several readers of several sessions at once", async () => {
    const home = await openHome();
    const [left, right] = [await home.sessions.create(who), await home.sessions.create(who)];
    const readers = [follow(home, left.id), follow(home, left.id), follow(home, right.id)];
    const next = Promise.all(readers.map((reader) => take(reader, 2)));
    for (const n of [1, 2]) {
      await say(home, left.id, `left ${n}`);
      await say(home, right.id, `right ${n}`);
    }
    expect(await next).toEqual([
      ["left 1", "left 2"],
      ["left 1", "left 2"],
      ["right 1", "right 2"],
    ]);
    for (const reader of readers) await reader.return?.();
  });

  it("ends when the session is removed, and fails for a missing session or one of another person", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    const reader = follow(home, id);
    const next = reader.next();
    await home.sessions.remove(who, id);
    expect((await next).done).toBe(true);
    await expect(follow(home, id).next()).rejects.toMatchObject({ code: "not_found" });
    const other = await home.sessions.create({ person: "p_bob" }, { id: `${id}-longer` });
    await expect(follow(home, other.id).next()).rejects.toMatchObject({ code: "not_found" });
  });
});
