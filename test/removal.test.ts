import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import { testHome } from "./support/command.ts";
import { indexed, look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";

const who = { person: OWNER };

it.each(["workers", "in-process"] as const)(
  "leaves no word in the file when a session is removed, and later the fork that showed a part of it (%s)",
  async (mode) => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const file = join(folder.path, "postrider.db");
    const store = await sqliteStore({ file, mode });
    onTestFinished(() => store.close());
    const sessions = createSessions({ store });
    const found = (): unknown[] =>
      look(file, (db) =>
        db.prepare("select rowid & 0xffffff from words where words match 'zebra'").pluck().all(),
      );
    await sessions.create(who, { id: "origin" });

    // All in one commit, so that the index finds a session of which only the end exists.
    await Promise.all([
      sessions.append(
        who,
        "origin",
        Array.from({ length: 10 }, (_, n) => ({ role: "user", text: `zebra number ${n + 1}` })),
      ),
      sessions.compress(who, "origin", "a summary", { keepLast: 3 }),
      sessions.fork(who, "origin", { id: "fork" }),
      sessions.remove(who, "origin"),
    ]);
    await indexed(file);
    expect(found()).toEqual([8, 9, 10]);
    expect(await sessions.search(who, "zebra")).toHaveLength(3);

    await sessions.remove(who, "fork");
    expect(found()).toEqual([]);
    expect(await sessions.search(who, "zebra")).toEqual([]);
    await store.close();
    expect(readFileSync(file).includes("zebra")).toBe(false);
  },
);

it.each([
  ["sessions delete", (handles: readonly string[]) => ["sessions", "delete", ...handles, "--yes"]],
  ["sessions prune", () => ["sessions", "prune", "--older-than", "0", "--yes"]],
] as const)(
  "leaves no word of many long sessions in the file, nor in the gaps of its pages (%s)",
  async (_, command) => {
    const home = testHome();
    // Written alternately, so that rows move between pages repeatedly.
    const going = await home.fill(async ({ sessions }) => {
      const made = [];
      for (const n of Array(60).keys()) made.push(await sessions.create(who, { id: `talk-${n}` }));
      for (const round of Array(50).keys()) {
        const appended = made.map(({ id }, n) => {
          const kind = n % 2 === 0 ? "secret" : "public";
          const words = Array.from({ length: 20 }, (_, word) => `${kind}${n}x${round}x${word}`).join(" ");
          return sessions.append(who, id, { role: "user", text: words });
        });
        await Promise.all(appended);
      }
      await indexed(home.database);
      const secrets = made.filter((_, n) => n % 2 === 0);
      for (const { id } of secrets) await sessions.change(who, id, { ended: true });
      return secrets;
    });
    expect(readFileSync(home.database).includes("secret0x")).toBe(true);
    const ran = await home.run(command(going.map(({ handle }) => handle)), { now: Date.now() + 1000 });
    expect(ran.code).toBe(0);
    const file = readFileSync(home.database);
    expect(file.includes("secret")).toBe(false);
    expect(file.includes("public1x0x0")).toBe(true);
    expect((await home.run(["sessions", "search", "public11x49x19"])).out).toContain("public11x49x19");
    expect((await home.run(["doctor", "--full"])).code).toBe(0);
  },
);
