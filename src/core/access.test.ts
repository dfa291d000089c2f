import { describe, expect, it } from "vitest";
import {
  type AccessRule,
  type AccessRules,
  type AccountRole,
  getStrangerPolicy,
  resolveRole,
} from "./access.ts";

const rules = (telegram: AccessRule, everywhere: AccessRule = {}): AccessRules => ({
  everywhere,
  platforms: { telegram },
});
const sender = (userId?: string, userIdAlt?: string) => ({
  platform: "telegram",
  ...(userId !== undefined && { userId }),
  ...(userIdAlt !== undefined && { userIdAlt }),
});
const inChat = (chatType: string, userId?: string, userIdAlt?: string) => ({
  ...sender(userId, userIdAlt),
  chatType,
  chatId: "-100",
});

describe("a sender with access", () => {
  it.each<[string, AccessRules, Parameters<typeof resolveRole>[1], boolean]>([
    ["nobody, unless told", rules({}), sender("7"), false],
    ["whom the platform's list names", rules({ allow: ["7"] }), sender("7"), true],
    ["whom the list for everywhere names", rules({}, { allow: ["7"] }), sender("7"), true],
    ["whom either list names", rules({ allow: ["8"] }, { allow: ["7"] }), sender("7"), true],
    ["nobody whom no list names", rules({ allow: ["8"] }, { allow: ["9"] }), sender("7"), false],
    ["anyone where the platform's door stands open", rules({ allowAll: true }), sender("7"), true],
    ["anyone where all doors stand open", rules({}, { allowAll: true }), sender("7"), true],
    ["anyone there although a list is", rules({ allow: ["8"] }, { allowAll: true }), sender("7"), true],
    ["nobody of another platform's list", rules({}, {}), { platform: "signal", userId: "7" }, false],
    ["whom a list names without what follows the @", rules({ allow: ["49"] }), sender("49@s.whatsapp"), true],
    ["nobody by a part of an id without an @", rules({ allow: ["4"] }), sender("49"), false],
    ["whom a list names by the second id", rules({ allow: ["uuid"] }), sender("+49", "uuid"), true],
    ["nobody without an id, though the door stands open", rules({ allowAll: true }), sender(), false],
    ["nobody by an empty list", rules({ allow: [] }, { allow: [] }), sender("7"), false],
    ["a channel that a list names", rules({ allow: ["-100"] }), inChat("channel"), true],
    ["no channel that no list names", rules({ allow: ["-200"] }), inChat("channel"), false],
    ["no group by its own id", rules({ allow: ["-100"] }), inChat("group"), false],
    ["whoever posts by name in a channel", rules({ allow: ["7"] }), inChat("channel", "7"), true],
    ["nobody by the channel they post in", rules({ allow: ["-100"] }), inChat("channel", "7"), false],
    [
      "whom the second id names in a channel",
      rules({ allow: ["u"] }),
      inChat("channel", undefined, "u"),
      true,
    ],
    [
      "nobody by the channel when they have a second id",
      rules({ allow: ["-100"] }),
      inChat("channel", undefined, "u"),
      false,
    ],
    ["nobody by an id that begins with an @", rules({ allow: [""] }), sender("@49"), false],
  ])("is %s", (_, given, who, isAllowed) => {
    expect(resolveRole(given, who, undefined)).toBe(isAllowed ? "member" : undefined);
  });

  it.each<[AccountRole, "owner" | "member" | undefined]>([
    [{ person: "owner", role: "owner" }, "owner"],
    [{ person: "p1", role: "member" }, "member"],
    [{ person: "p1" }, undefined],
  ])("is a person with a stored role, regardless of the lists: %j", (known, role) => {
    expect(resolveRole(rules({ allow: ["8"] }), sender("7"), known)).toBe(role);
  });

  it("is never the owner by a list", () => {
    expect(resolveRole(rules({ allow: ["7"] }), sender("7"), { person: "p1" })).toBe("member");
  });
});

describe("an unknown sender", () => {
  it("gets a code by default, and the platform's setting overrides the general one", () => {
    expect(getStrangerPolicy(rules({}), "telegram")).toBe("pair");
    expect(getStrangerPolicy(rules({}, { strangers: "ignore" }), "telegram")).toBe("ignore");
    const both = rules({ strangers: "pair" }, { strangers: "ignore" });
    expect([getStrangerPolicy(both, "telegram"), getStrangerPolicy(both, "signal")]).toEqual([
      "pair",
      "ignore",
    ]);
  });
});
