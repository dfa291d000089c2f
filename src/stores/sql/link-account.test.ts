import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { OWNER } from "../../core/owner.ts";
import { isRefused } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import { openWriter, type SqliteDb } from "../sqlite/connection.ts";
import { linkAccount } from "./link-account.ts";
import { open } from "./routing.ts";
import { setTitle } from "./sessions.ts";
import { switchTo } from "./switching.ts";

const T0 = Date.UTC(2026, 2, 15);
const NAMES = ["a", "b", "c"];
const PLATFORMS = ["telegram", "signal"];

type Deed =
  | { readonly does: "speaks"; readonly platform: string; readonly name: string; readonly group: boolean }
  | { readonly does: "links"; readonly platform: string; readonly name: string; readonly to: number }
  | { readonly does: "names"; readonly n: number; readonly title: string }
  | { readonly does: "switches"; readonly conversation: number; readonly session: number };

const platform = fc.constantFrom(...PLATFORMS);
const name = fc.constantFrom(...NAMES);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ does: fc.constant("speaks" as const), platform, name, group: fc.boolean() }),
  fc.record({ does: fc.constant("links" as const), platform, name, to: fc.nat(5) }),
  fc.record({ does: fc.constant("names" as const), n: fc.nat(9), title: fc.constantFrom("plans", "x #2") }),
  fc.record({ does: fc.constant("switches" as const), conversation: fc.nat(9), session: fc.nat(9) }),
);

describe("accounts that move to another person", () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let db: SqliteDb;
  beforeAll(() => {
    folder = temporaryFolder();
    db = openWriter({ file: `${folder.path}/postrider.db` });
  });
  afterAll(() => {
    db.close();
    folder.remove();
  });

  it("show no person a session of another, for any order of messages, links, titles and resumes", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 25 }), (deeds) => {
        db.exec("begin");
        try {
          deeds.forEach((one, index) => {
            act(db, one, index);
          });
          expect(strangers(db)).toEqual([]);
          expect(db.all("pragma foreign_key_check")).toEqual([]);
          const people = db.all<{ person: string }>("select distinct person from accounts");
          expect(people.every(({ person }) => known(db, person))).toBe(true);
        } finally {
          db.exec("rollback");
        }
      }),
      { numRuns: 150 },
    );
  });
});

function act(db: SqliteDb, deed: Deed, index: number): void {
  const now = T0 + index;
  const pick = (table: string, n: number): { n: number; id: string; person: string | null } | undefined => {
    const rows = db.all<{ n: number; id: string; person: string | null }>(
      `select * from ${table} order by 1`,
    );
    return rows[n % Math.max(1, rows.length)];
  };
  if (deed.does === "speaks") {
    open(db, {
      source: sourceOf(deed),
      profile: "main",
      scope: { groupsPerUser: true, threadsPerUser: true },
      reset: {},
      newSession: { id: `s${index}`, kind: "chat" },
      now,
    });
  } else if (deed.does === "links") {
    const person = deed.to === 0 ? OWNER : pick("people", deed.to)?.id;
    if (person === undefined) return;
    const linked = linkAccount(db, {
      account: { platform: deed.platform, userId: deed.name },
      person,
      now,
    });
    expect(isRefused(linked) ? undefined : linked.person).toBe(person);
  } else if (deed.does === "names") {
    const session = pick("sessions", deed.n);
    if (session !== undefined)
      setTitle(db, {
        asker: { everyone: true },
        session: session.id,
        title: deed.title,
      });
  } else {
    const conversation = pick("conversations", deed.conversation);
    const session = pick("sessions", deed.session);
    if (conversation?.person == null || session === undefined) return;
    const asker = { person: conversation.person };
    switchTo(db, {
      asker,
      session: session.id,
      conversation: conversation.n,
      now,
    });
  }
}

function sourceOf({ platform, name, group }: { platform: string; name: string; group: boolean }): Source {
  return {
    platform,
    chatType: group ? "group" : "dm",
    chatId: group ? "riders" : name,
    userId: name,
  };
}

/** Conversations of one person that show a session of another, or whose sender is another person by now. */
function strangers(db: SqliteDb): unknown[] {
  return db.all(
    `select c.n from conversations c join sessions s on s.n = c.session
       left join accounts a on a.platform = c.platform and (a.n = c.account or (c.account = 0 and a.user_id = c.chat_id))
     where s.owner <> c.person or a.person <> c.person`,
  );
}

function known(db: SqliteDb, person: string): boolean {
  return db.get("select 1 from people where id = ?", person) !== undefined;
}
