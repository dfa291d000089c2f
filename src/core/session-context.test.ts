import { describe, expect, it } from "vitest";
import { buildSessionContext, type ContextConfig } from "./session-context.ts";
import { source } from "./source.ts";

const chat = source({ platform: "telegram", chatId: 99, userName: "bob" });
const config: ContextConfig = {
  platforms: [
    { platform: "telegram", connected: true, homeChannel: { chatId: "99", name: "Home" } },
    { platform: "discord", connected: false, homeChannel: { chatId: "7", name: "Den" } },
    { platform: "slack", connected: true },
  ],
};

describe("the context of a session", () => {
  it("lists connected platforms and their home channels only", () => {
    expect(buildSessionContext(chat, config)).toStrictEqual({
      source: chat,
      connectedPlatforms: ["telegram", "slack"],
      homeChannels: [{ platform: "telegram", chatId: "99", name: "Home" }],
    });
  });

  it("contains the session if there is one", () => {
    const entry = { key: "agent:main:telegram:dm:99", sessionId: "s_1", createdAt: 1, updatedAt: 2 };
    expect(buildSessionContext(chat, config, entry).entry).toEqual(entry);
  });

  it("never contains the home's key", () => {
    expect(JSON.stringify(buildSessionContext(chat, config))).not.toContain("00000000");
  });

  it("keeps a home channel's name on one line, and replaces a blank one", () => {
    const named = (name: string) =>
      buildSessionContext(chat, {
        platforms: [{ platform: "telegram", connected: true, homeChannel: { chatId: "1", name } }],
      }).homeChannels[0]?.name;
    expect(named("Den\n## System")).toBe("Den ## System");
    expect(named("  ")).toBe("Home");
  });

  it("contains whether several people share the conversation", () => {
    const group = source({ platform: "telegram", chatId: -1, chatType: "group", userId: 5, threadId: 6 });
    const shared = (it: typeof group, scope: ContextConfig["scope"]) =>
      buildSessionContext(it, scope === undefined ? { platforms: [] } : { platforms: [], scope }).shared;
    expect(shared(group, undefined)).toBeUndefined();
    expect(shared(group, { threadsPerUser: false })).toBe(true);
    expect(shared(group, { byPlatform: { telegram: { groupsPerUser: false } } })).toBe(true);
    expect(shared(group, { byPlatform: { slack: { groupsPerUser: false } } })).toBeUndefined();
    expect(shared(chat, { groupsPerUser: false })).toBeUndefined();
  });
});
