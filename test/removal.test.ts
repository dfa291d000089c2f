import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
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

    // All in one commit, so that the index meets a session of which only the end is left.
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
