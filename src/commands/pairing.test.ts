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

const buildStranger = (id: string, platform = "telegram"): Source => ({
  platform,
  chatType: "dm",
  chatId: id,
  userId: id,
  userName: `Stranger ${id}`,
});

async function requestCode(home: Home, source: Source): Promise<string> {
  const asked = await requestPairingCode({ ...home, source });
  if (asked.state !== "asked") throw new Error(`no code was given: ${asked.state}`);
  return asked.code;
}

const readRole = async ({ store }: Home, { platform, userId }: Source) =>
  (await store.access.getAccount({ platform, ...(userId !== undefined && { userId }) }))?.role;

/** Well-formed, and never issued. */
const WRONG = "ZZZZ-9999";

describe("a stranger who requests access", () => {
  it("gets a code of two groups of four unambiguous letters and digits, and never the same code twice", async () => {
    const home = await openHome();
    const codes = [];
    for (const platform of ["telegram", "signal", "matrix", "discord"])
      codes.push(await requestCode(home, buildStranger("1", platform)));
    for (const code of codes) expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it("gets an explanation with the code, and no message without a code", async () => {
    const home = await openHome();
    const asked = await requestPairingCode({ ...home, source: buildStranger("1") });
    if (asked.state !== "asked") throw new Error(asked.state);
    expect(formatPairingCode(asked)).toContain(`postrider pair approve ${asked.code}`);
    expect(
      formatPairingCode(await requestPairingCode({ ...home, source: buildStranger("1") })),
    ).toBeUndefined();
  });

  it("gets at most one code in ten minutes, and the next code replaces it", async () => {
    const home = await openHome();
    const first = await requestCode(home, buildStranger("1"));
    const until = home.clock.now() + 10 * MINUTE;
    home.clock.pass(10 * MINUTE - 1);
    expect(await requestPairingCode({ ...home, source: buildStranger("1") })).toEqual({
      state: "too_soon",
      until,
    });
    home.clock.pass(1);
    const second = await requestCode(home, buildStranger("1"));
    expect(await approvePairing({ ...home, code: first })).toMatchObject({ refused: "not_found" });
    expect(await approvePairing({ ...home, code: second })).toMatchObject({ asker: buildStranger("1") });
  });

  it("gets a code, however many others have requested one", async () => {
    const home = await openHome();
    for (const id of ["1", "2", "3", "4", "5"]) await requestCode(home, buildStranger(id));
    const code = await requestCode(home, buildStranger("6"));
    expect(await approvePairing({ ...home, code })).toMatchObject({ asker: buildStranger("6") });
    expect(await home.store.access.listPairings({ now: home.clock.now() })).toHaveLength(5);
  });

  it("shares the salt with other strangers, so that an approval needs one hash; a code that links has its own salt", async () => {
    const home = await openHome();
    await requestCode(home, buildStranger("1"));
    const code = await requestCode(home, buildStranger("2", "signal"));
    await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    const salts = (await home.store.access.listPairings({ now: home.clock.now() })).map(({ salt }) => salt);
    expect([salts[0] === salts[1], salts[1] === salts[2]]).toEqual([true, false]);
    expect(await approvePairing({ ...home, code })).toMatchObject({ asker: buildStranger("2", "signal") });
    home.clock.pass(HOUR);
    await requestCode(home, buildStranger("3"));
    const [later] = await home.store.access.listPairings({ now: home.clock.now() });
    expect(salts).not.toContain(later?.salt);
  });

  it("leaves no code in the file", async () => {
    const home = await openHome();
    const codes = [
      await requestCode(home, buildStranger("1")),
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

describe("an approval", () => {
  it("gives the stranger access, and reports it in their chat", async () => {
    const home = await openHome();
    const source = buildStranger("7");
    const code = await requestCode(home, source);
    expect(await readRole(home, source)).toBeUndefined();
    expect(await approvePairing({ ...home, code })).toMatchObject({
      account: { platform: "telegram", userId: "7", name: "Stranger 7" },
      asker: source,
    });
    expect(await readRole(home, source)).toBe("member");
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
    "reads %j as ABCD-EFGH",
    (typed) => {
      expect(parsePairingCode(typed)).toBe("ABCDEFGH");
    },
  );

  it.each(["", "ABCD-EFG", "ABCD-EFGHJ", "ABCD-EFG1", "ABCD-EFGO", "ABCD_EFGH", "ÄBCD-EFGH"])(
    "refuses %j as a code, and counts no guess",
    async (code) => {
      const home = await openHome();
      for (let time = 1; time <= 6; time += 1)
        expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "invalid_input" });
    },
  );

  it("accepts a code in lower case and without its dash", async () => {
    const home = await openHome();
    const code = (await requestCode(home, buildStranger("1"))).toLowerCase().replace("-", " ");
    expect(isRefused(await approvePairing({ ...home, code }))).toBe(false);
  });

  it("accepts only the codes of the given platform", async () => {
    const home = await openHome();
    const code = await requestCode(home, buildStranger("1"));
    expect(await approvePairing({ ...home, code, platform: "signal" })).toMatchObject({
      refused: "not_found",
    });
    expect(isRefused(await approvePairing({ ...home, code, platform: "telegram" }))).toBe(false);
  });

  it("refuses a code that is an hour old", async () => {
    const home = await openHome();
    const code = await requestCode(home, buildStranger("1"));
    home.clock.pass(HOUR);
    expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "not_found" });
  });

  it("is locked for an hour after five wrong codes, also for the right one; strangers still get codes", async () => {
    const home = await openHome();
    const code = await requestCode(home, buildStranger("1"));
    for (let time = 1; time <= 5; time += 1)
      expect(await approvePairing({ ...home, code: WRONG })).toMatchObject({ refused: "not_found" });
    expect(await approvePairing({ ...home, code })).toMatchObject({
      refused: "locked_out",
      reason: expect.stringContaining("in 1h"),
    });
    home.clock.pass(59 * MINUTE);
    const later = await requestCode(home, buildStranger("2"));
    expect(await approvePairing({ ...home, code: later })).toMatchObject({ refused: "locked_out" });
    home.clock.pass(MINUTE);
    expect(isRefused(await approvePairing({ ...home, code: later }))).toBe(false);
  });

  it("allows no more guesses when they are made at once", async () => {
    const home = await openHome();
    await requestCode(home, buildStranger("1"));
    const tries = await Promise.all(
      Array.from({ length: 12 }, () => approvePairing({ ...home, code: WRONG })),
    );
    const codes = tries.map((tried) => (isRefused(tried) ? tried.refused : "let in"));
    expect(codes.filter((code) => code === "not_found")).toHaveLength(5);
    expect(codes.filter((code) => code === "locked_out")).toHaveLength(7);
  });

  it("resets the count of wrong codes after a right one", async () => {
    const home = await openHome();
    for (const id of ["1", "2"]) {
      const code = await requestCode(home, buildStranger(id));
      for (let time = 1; time <= 4; time += 1) await approvePairing({ ...home, code: WRONG });
      expect(isRefused(await approvePairing({ ...home, code }))).toBe(false);
    }
  });

  it("refuses a code that links an account", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await approvePairing({ ...home, code })).toMatchObject({ refused: "not_found" });
  });
});

describe("a code that links an account", () => {
  it("links the account that sends it in a direct chat to the person, once", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await redeemLinkCode({ ...home, source: buildStranger("5"), code })).toMatchObject({
      person: OWNER,
    });
    expect(await readRole(home, buildStranger("5"))).toBe("owner");
    expect(await redeemLinkCode({ ...home, source: buildStranger("6"), code })).toMatchObject({
      refused: "not_found",
    });
    expect(await readRole(home, buildStranger("6"))).toBeUndefined();
  });

  it("is refused in a group, where others can read it, and stays valid", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    const group = { ...buildStranger("5"), chatType: "group", chatId: "-100" };
    expect(await redeemLinkCode({ ...home, source: group, code })).toMatchObject({ refused: "not_allowed" });
    expect(isRefused(await redeemLinkCode({ ...home, source: buildStranger("5"), code }))).toBe(false);
  });

  it("is valid on its platform only, and for an hour", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await redeemLinkCode({ ...home, source: buildStranger("5", "signal"), code })).toMatchObject({
      refused: "not_found",
    });
    home.clock.pass(HOUR);
    expect(await redeemLinkCode({ ...home, source: buildStranger("5"), code })).toMatchObject({
      refused: "not_found",
    });
  });

  it("cannot be the code of a stranger: nobody can approve themselves", async () => {
    const home = await openHome();
    const code = await requestCode(home, buildStranger("5"));
    expect(await redeemLinkCode({ ...home, source: buildStranger("5"), code })).toMatchObject({
      refused: "not_found",
    });
    expect(await readRole(home, buildStranger("5"))).toBeUndefined();
  });

  it("locks only the account that guesses wrong codes", async () => {
    const home = await openHome();
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    for (let time = 1; time <= 5; time += 1)
      await redeemLinkCode({ ...home, source: buildStranger("5"), code: WRONG });
    expect(await redeemLinkCode({ ...home, source: buildStranger("5"), code })).toMatchObject({
      refused: "locked_out",
    });
    const asked = await requestCode(home, buildStranger("5"));
    expect(isRefused(await approvePairing({ ...home, code: asked }))).toBe(false);
    expect(isRefused(await redeemLinkCode({ ...home, source: buildStranger("6"), code }))).toBe(false);
  });
});
