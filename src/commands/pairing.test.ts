import { describe, expect, it } from "vitest";
import { look } from "../../test/support/database.ts";
import { HOUR, type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { getText } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { isRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import {
  approvePairing,
  createLinkCode,
  formatPairingCode,
  parsePairingCode,
  redeemLinkCode,
  requestPairingCode,
} from "./pairing.ts";

const stranger = (id: string, platform = "telegram"): Source => ({
  platform,
  chatType: "dm",
  chatId: id,
  userId: id,
  userName: `Stranger ${id}`,
});

async function codeFor(home: Home, source: Source): Promise<string> {
  const asked = await requestPairingCode({ ...home, source });
  if (asked.state !== "asked") throw new Error(`no code was given: ${asked.state}`);
  return asked.code;
}

const roleOf = async ({ store }: Home, { platform, userId }: Source) =>
  (await store.access.getAccount({ platform, ...(userId !== undefined && { userId }) }))?.role;

/** Right in form, and nobody's. */
const WRONG = "ZZZZ-9999";

describe("a stranger who asks to be let in", () => {
  it("gets eight letters and digits in two groups, none of which look alike, and never the same twice", async () => {
    const home = await openHome();
    const codes = [];
    for (const platform of ["telegram", "signal", "matrix", "discord"])
      codes.push(await codeFor(home, stranger("1", platform)));
    for (const code of codes) expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it("is told what to do with it; whoever gets none is told nothing", async () => {
    const home = await openHome();
    const asked = await requestPairingCode({ ...home, source: stranger("1") });
    if (asked.state !== "asked") throw new Error(asked.state);
    expect(formatPairingCode(asked)).toContain(`postrider pair approve ${asked.code}`);
    expect(formatPairingCode(await requestPairingCode({ ...home, source: stranger("1") }))).toBeUndefined();
  });

  it("gets one in ten minutes; the next replaces it", async () => {
    const home = await openHome();
    const first = await codeFor(home, stranger("1"));
    const until = home.clock.now() + 10 * MINUTE;
    home.clock.pass(10 * MINUTE - 1);
    expect(await requestPairingCode({ ...home, source: stranger("1") })).toEqual({
      state: "too_soon",
      until,
    });
    home.clock.pass(1);
    const second = await codeFor(home, stranger("1"));
    expect(await approvePairing({ ...home, code: first })).toMatchObject({ refused: "not_found" });
    expect(await approvePairing({ ...home, code: second })).toMatchObject({ asker: stranger("1") });
  });

  it("gets a code however many others have asked before them", async () => {
    const home = await openHome();
    for (const id of ["1", "2", "3", "4", "5"]) await codeFor(home, stranger(id));
    const code = await codeFor(home, stranger("6"));
    expect(await approvePairing({ ...home, code })).toMatchObject({ asker: stranger("6") });
    expect(await home.store.access.listPairings({ now: home.clock.now() })).toHaveLength(5);
  });

  it("shares the salt with others who ask, so that one hash answers the owner; a code that links does not", async () => {
    const home = await openHome();
    await codeFor(home, stranger("1"));
    const code = await codeFor(home, stranger("2", "signal"));
    await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    const salts = (await home.store.access.listPairings({ now: home.clock.now() })).map(({ salt }) => salt);
    expect([salts[0] === salts[1], salts[1] === salts[2]]).toEqual([true, false]);
    expect(await approvePairing({ ...home, code })).toMatchObject({ asker: stranger("2", "signal") });
    home.clock.pass(HOUR);
    await codeFor(home, stranger("3"));
    const [later] = await home.store.access.listPairings({ now: home.clock.now() });
    expect(salts).not.toContain(later?.salt);
  });

  it("leaves no code in the file", async () => {
    const home = await openHome();
    const codes = [
      await codeFor(home, stranger("1")),
      (await createLinkCode({ ...home, platform: "telegram", person: OWNER })).code,
    ];
    const rows = look(home.file, (db) => db.prepare("select * from pairings").all()) as {
      salt: string;
      hash: string;
    }[];
    expect(new Set(rows.map(({ salt }) => salt)).size).toBe(2);
    for (const code of codes) {
      expect(JSON.stringify(rows)).not.toContain(code);
      expect(JSON.stringify(rows)).not.toContain(code.replace("-", ""));
    }
  });
});

describe("approving", () => {
  it("lets in whoever asked, and tells them in their chat", async () => {
    const home = await openHome();
    const source = stranger("7");
    const code = await codeFor(home, source);
    expect(await roleOf(home, source)).toBeUndefined();
    expect(await approvePairing({ ...home, code })).toMatchObject({
      account: { platform: "telegram", userId: "7", name: "Stranger 7" },
      asker: source,
    });
    expect(await roleOf(home, source)).toBe("member");
    const waiting = await home.store.outbox.listPendingDeliveries({
      dueAt: home.clock.now(),
      limit: 10,
      platform: "telegram",
    });
    expect(waiting.map(({ target, parts }) => [target.chatId, getText({ parts })])).toEqual([
      ["7", expect.stringContaining("You are let in")],
    ]);
    expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "not_found" });
  });

  it.each(["abcdefgh", " ABCD EFGH ", "abcd-efgh", "aB-cD eF-gH", "ABCD–EFGH"])(
    "takes %j for ABCD-EFGH",
    (typed) => {
      expect(parsePairingCode(typed)).toBe("ABCDEFGH");
    },
  );

  it.each(["", "ABCD-EFG", "ABCD-EFGHJ", "ABCD-EFG1", "ABCD-EFGO", "ABCD_EFGH", "ÄBCD-EFGH"])(
    "takes %j for no code, and counts no guess",
    async (code) => {
      const home = await openHome();
      for (let time = 1; time <= 6; time += 1)
        expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "invalid_input" });
    },
  );

  it("takes a code in lower case and without its dash", async () => {
    const home = await openHome();
    const code = (await codeFor(home, stranger("1"))).toLowerCase().replace("-", " ");
    expect(isRefused(await approvePairing({ ...home, code }))).toBe(false);
  });

  it("knows only the codes of the platform that is named", async () => {
    const home = await openHome();
    const code = await codeFor(home, stranger("1"));
    expect(await approvePairing({ ...home, code, platform: "signal" })).toMatchObject({
      refused: "not_found",
    });
    expect(isRefused(await approvePairing({ ...home, code, platform: "telegram" }))).toBe(false);
  });

  it("refuses a code that is an hour old", async () => {
    const home = await openHome();
    const code = await codeFor(home, stranger("1"));
    home.clock.pass(HOUR);
    expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "not_found" });
  });

  it("is locked for an hour by five wrong codes, also for the right one; codes are still given", async () => {
    const home = await openHome();
    const code = await codeFor(home, stranger("1"));
    for (let time = 1; time <= 5; time += 1)
      expect(await approvePairing({ ...home, code: WRONG })).toMatchObject({ refused: "not_found" });
    expect(await approvePairing({ ...home, code })).toMatchObject({
      refused: "locked_out",
      reason: expect.stringContaining("in 1h"),
    });
    home.clock.pass(59 * MINUTE);
    const later = await codeFor(home, stranger("2"));
    expect(await approvePairing({ ...home, code: later })).toMatchObject({ refused: "locked_out" });
    home.clock.pass(MINUTE);
    expect(isRefused(await approvePairing({ ...home, code: later }))).toBe(false);
  });

  it("cannot be guessed more often by guessing at once", async () => {
    const home = await openHome();
    await codeFor(home, stranger("1"));
    const tries = await Promise.all(
      Array.from({ length: 12 }, () => approvePairing({ ...home, code: WRONG })),
    );
    const codes = tries.map((tried) => (isRefused(tried) ? tried.refused : "let in"));
    expect(codes.filter((code) => code === "not_found")).toHaveLength(5);
    expect(codes.filter((code) => code === "locked_out")).toHaveLength(7);
  });

  it("forgets wrong codes after a right one", async () => {
    const home = await openHome();
    for (const id of ["1", "2"]) {
      const code = await codeFor(home, stranger(id));
      for (let time = 1; time <= 4; time += 1) await approvePairing({ ...home, code: WRONG });
      expect(isRefused(await approvePairing({ ...home, code }))).toBe(false);
    }
  });

  it("does not take a code that links an account", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "not_found" });
  });
});

describe("a code that links an account", () => {
  it("makes whoever gives it in a direct chat the person's, once", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await redeemLinkCode({ ...home, source: stranger("5"), code })).toMatchObject({ person: OWNER });
    expect(await roleOf(home, stranger("5"))).toBe("owner");
    expect(await redeemLinkCode({ ...home, source: stranger("6"), code })).toMatchObject({
      refused: "not_found",
    });
    expect(await roleOf(home, stranger("6"))).toBeUndefined();
  });

  it("is refused in a group, where others read along, and stays good", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    const group = { ...stranger("5"), chatType: "group", chatId: "-100" };
    expect(await redeemLinkCode({ ...home, source: group, code })).toMatchObject({ refused: "not_allowed" });
    expect(isRefused(await redeemLinkCode({ ...home, source: stranger("5"), code }))).toBe(false);
  });

  it("is good on its own platform, and for an hour", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await redeemLinkCode({ ...home, source: stranger("5", "signal"), code })).toMatchObject({
      refused: "not_found",
    });
    home.clock.pass(HOUR);
    expect(await redeemLinkCode({ ...home, source: stranger("5"), code })).toMatchObject({
      refused: "not_found",
    });
  });

  it("does not take a stranger's own code: nobody lets themselves in", async () => {
    const home = await openHome();
    const code = await codeFor(home, stranger("5"));
    expect(await redeemLinkCode({ ...home, source: stranger("5"), code })).toMatchObject({
      refused: "not_found",
    });
    expect(await roleOf(home, stranger("5"))).toBeUndefined();
  });

  it("locks the account that guesses, and nobody else", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    for (let time = 1; time <= 5; time += 1)
      await redeemLinkCode({ ...home, source: stranger("5"), code: WRONG });
    expect(await redeemLinkCode({ ...home, source: stranger("5"), code })).toMatchObject({
      refused: "locked_out",
    });
    const asked = await codeFor(home, stranger("5"));
    expect(isRefused(await approvePairing({ ...home, code: asked }))).toBe(false);
    expect(isRefused(await redeemLinkCode({ ...home, source: stranger("6"), code }))).toBe(false);
  });
});
