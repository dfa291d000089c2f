import { describe, expect, it } from "vitest";
import { redeemLinkCode, requestPairingCode } from "../src/commands/pairing.ts";
import { OWNER, type Source, systemClock } from "../src/index.ts";
import { NOW, type TestHome, testHome } from "./support/command.ts";

const MINUTE = 60_000;
const eve: Source = {
  platform: "telegram",
  chatType: "dm",
  chatId: "77",
  userId: "77",
  userName: "Eve\u001b[31m",
};
const clock = { ...systemClock, now: () => NOW };

function strangersCode(home: TestHome, source: Source = eve): Promise<string> {
  return home.fill(async ({ store }) => {
    const asked = await requestPairingCode({ store, clock, source });
    if (asked.state !== "asked") throw new Error(`there is no code: ${asked.state}`);
    return asked.code;
  });
}

const accountOf = (home: TestHome, userId: string, platform = "telegram") =>
  home.fill(({ store }) => store.access.getAccount({ platform, userId }));

describe("postrider pair", () => {
  it("lists requests without their codes, and people with access", async () => {
    const home = testHome();
    expect(await home.run(["pair", "list"])).toMatchObject({
      code: 0,
      err: expect.stringContaining("There are no pairing requests."),
    });
    const code = await strangersCode(home);
    const { out } = await home.run(["pair", "list"], { now: NOW + 5 * MINUTE });
    expect(out).toMatch(/Eve␛\[31m \(77 on telegram\) +5m ago +55m/);
    expect(out).not.toContain(code);
    await home.run(["pair", "approve", code]);
    const after = await home.run(["pair", "list"]);
    expect(after.out).toMatch(/p_\w+ +member +Eve␛\[31m \(77 on telegram\) +just now/);
    expect(after.err).toContain("There are no pairing requests");
  });

  it("grants access by a code in any spelling, and notifies the requester", async () => {
    const home = testHome();
    const code = await strangersCode(home);
    const typed = code.toLowerCase().split("-");
    const { code: exit, out } = await home.run(["pair", "approve", ...typed]);
    expect({ exit, out }).toEqual({
      exit: 0,
      out: expect.stringMatching(/^Eve␛\[31m \(77 on telegram\) now has access, as p_\w+\.\n$/),
    });
    expect(await accountOf(home, "77")).toMatchObject({ role: "member" });
    const waiting = await home.fill(({ store }) =>
      store.outbox.listPendingDeliveries({ dueAt: NOW, limit: 10 }),
    );
    expect(waiting.map(({ target }) => target.chatId)).toEqual(["77"]);
    expect((await home.run(["pair", "approve", code])).code).toBe(3);
  });

  it("distinguishes wrong codes, invalid codes and a lock", async () => {
    const home = testHome();
    const code = await strangersCode(home);
    expect(await home.run(["pair", "approve", "ABC"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("eight letters and digits"),
    });
    for (let time = 1; time <= 5; time += 1)
      expect((await home.run(["pair", "approve", "ZZZZ-9999"])).code).toBe(3);
    expect(await home.run(["pair", "approve", code])).toMatchObject({
      code: 5,
      err: expect.stringContaining("Try again in 1h."),
    });
    expect((await home.run(["pair", "approve", code], { now: NOW + 60 * MINUTE })).code).toBe(3);
  });

  it("revokes access by person or by account", async () => {
    const home = testHome();
    const approved = async (): Promise<string> => {
      const { person } = await home.json<{ person: string }>(["pair", "approve", await strangersCode(home)]);
      return person;
    };
    const person = await approved();
    expect((await home.run(["pair", "revoke", person])).out).toBe(`${person} no longer has access.\n`);
    expect((await accountOf(home, "77"))?.role).toBeUndefined();
    expect(await approved()).toBe(person);
    expect((await home.run(["pair", "revoke", "telegram", "77"])).code).toBe(0);
    expect((await accountOf(home, "77"))?.role).toBeUndefined();
    expect(await home.run(["pair", "revoke", "telegram", "77"])).toMatchObject({
      code: 3,
      err: expect.stringContaining("no access through pairing"),
    });
    expect((await home.run(["pair", "revoke", "telegram", "78"])).code).toBe(3);
  });

  it("cannot revoke the owner, but can unlink an account of the owner", async () => {
    const home = testHome();
    const { code } = await home.json<{ code: string }>(["pair", "link", "telegram"]);
    await home.fill(({ store }) => redeemLinkCode({ store, clock, source: eve, code }));
    expect((await accountOf(home, "77"))?.role).toBe("owner");
    expect((await home.run(["pair", "revoke", "owner"])).code).toBe(5);
    expect((await home.run(["pair", "revoke", "telegram", "77"])).code).toBe(0);
    expect(await accountOf(home, "77")).toMatchObject({ person: expect.stringMatching(/^p_/) });
    expect((await accountOf(home, "77"))?.role).toBeUndefined();
  });

  it("creates a code that links another account to the owner or to another person", async () => {
    const home = testHome();
    const { out, err } = await home.run(["pair", "link", "telegram"]);
    expect(out).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}\n$/);
    expect(err).toContain(`/pair ${out.trim()}`);
    await home.fill(({ store }) => redeemLinkCode({ store, clock, source: eve, code: out }));
    expect(await accountOf(home, "77")).toMatchObject({ person: OWNER, role: "owner" });
    const bob = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7" };
    const { person } = await home.json<{ person: string }>([
      "pair",
      "approve",
      await strangersCode(home, bob),
    ]);
    const second = await home.json<{ code: string }>(["pair", "link", "signal", "--person", "telegram:7"]);
    const onSignal = { platform: "signal", chatType: "dm", chatId: "+1", userId: "+1" };
    await home.fill(({ store }) => redeemLinkCode({ store, clock, source: onSignal, code: second.code }));
    expect(await accountOf(home, "+1", "signal")).toMatchObject({ person, role: "member" });
  });

  it("refuses an invalid platform and an unknown person", async () => {
    const home = testHome();
    expect((await home.run(["pair", "link", "Tele gram"])).err).toContain("lower-case name");
    expect((await home.run(["pair", "link", "signal", "--person", "p_nobody"])).code).toBe(3);
    expect(await home.run(["pair"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("list, approve, revoke, link"),
    });
  });
});
