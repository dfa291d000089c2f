import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contextPrompt } from "./context-prompt.ts";
import type { Privacy } from "./redaction.ts";
import { firstMessageNote, resetNote, resetNotice } from "./reset-notice.ts";
import { buildSessionContext, type ContextConfig, type SessionContext } from "./session-context.ts";
import { localSource, type SourceInput, source } from "./source.ts";

const homeKey = "0123456789abcdef".repeat(4);
const ON: Privacy = { redactPii: true };
const STRICT: Privacy = { redactPii: "strict", homeKey };

const config: ContextConfig = {
  platforms: [
    { platform: "local", connected: true },
    { platform: "telegram", connected: true, homeChannel: { chatId: "99999", name: "Home base" } },
    { platform: "whatsapp", connected: true },
    { platform: "discord", connected: false, homeChannel: { chatId: "7", name: "Den" } },
  ],
};
const bare: ContextConfig = { platforms: [] };

function context(input: SourceInput, from: ContextConfig = bare): SessionContext {
  return buildSessionContext(source(input), from);
}

const group: SourceInput = {
  platform: "telegram",
  chatId: -1002285219667,
  chatType: "group",
  chatName: "Dev Chat",
  chatTopic: "Releases",
  userId: 12345,
  userName: "alice",
  threadId: 17585,
};

describe("the context prompt", () => {
  it("contains all sections in this order", () => {
    expect(contextPrompt(context(group, config))).toBe(
      [
        "## Current Session Context",
        "",
        "**Source:** Telegram (group: Dev Chat, thread: 17585)",
        "**Channel Topic:** Releases",
        "**User:** alice",
        "",
        "**Connected Platforms:** local (files on this machine), telegram: Connected ✓, whatsapp: Connected ✓",
        "",
        "**Home Channels:**",
        "- telegram: Home base (ID: 99999)",
        "You cannot send messages to these chats. Your answer appears in this conversation only.",
      ].join("\n"),
    );
  });

  it("omits unknown values", () => {
    const prompt = contextPrompt(context({ platform: "telegram", chatId: 7 }));
    expect(prompt).toMatch(
      /\*\*Source:\*\* Telegram \(DM with user\)\n\n\*\*Connected Platforms:\*\* local \(files on this machine\)$/,
    );
    for (const absent of ["Channel Topic", "User:", "User ID", "Home Channels", "undefined", "null"]) {
      expect(prompt).not.toContain(absent);
    }
  });

  it("contains the sender's id if there is no name", () => {
    expect(contextPrompt(context({ platform: "telegram", chatId: 7, userId: 456 }))).toContain(
      "**User ID:** 456",
    );
  });

  it("describes the terminal as this machine", () => {
    const prompt = contextPrompt(buildSessionContext(localSource(), config));
    expect(prompt).toContain("**Source:** Local (the machine on which you run)");
    expect(prompt).not.toContain("local: Connected");
  });

  it("describes an editor as on this machine, without its session", () => {
    const prompt = contextPrompt(context({ platform: "acp", chatId: "s_secret" }));
    expect(prompt).toContain("**Source:** Editor (on the machine on which you run)\n");
    expect(prompt).not.toContain("s_secret");
  });

  it.each([
    ["telegram", context(group, config)],
    ["local", buildSessionContext(localSource(), config)],
  ])("offers neither send targets nor schedules on %s", (_, from) => {
    expect(contextPrompt(from)).not.toMatch(/deliver|schedul|origin|chat_id|jobs\/output/i);
  });

  it.each([
    ["slack", /history.*pins.*channels.*users/s],
    ["discord", /history.*pins.*roles.*members/s],
  ])("contains the limits of %s, before the platforms", (platform, limits) => {
    const prompt = contextPrompt(context({ platform, chatId: "C1", chatType: "group" }));
    expect(prompt).toMatch(limits);
    expect(prompt).toContain("never promise");
    expect(prompt.indexOf("never promise")).toBeLessThan(prompt.indexOf("Connected Platforms"));
  });

  it.each(["telegram", "matrix", "constructor"])("contains no limits of %s", (platform) => {
    expect(contextPrompt(context({ platform, chatId: "1" }))).not.toContain("never promise");
  });

  it("contains no sender in a shared conversation", () => {
    const prompt = contextPrompt(context(group, { platforms: [], scope: { groupsPerUser: false } }));
    expect(prompt).toContain("several people share this conversation");
    expect(prompt).not.toContain("alice");
  });

  it("never contains the session's key or id", () => {
    const entry = { key: "agent:main:telegram:dm:7", sessionId: "s_secret", createdAt: 1, updatedAt: 2 };
    const prompt = contextPrompt(
      buildSessionContext(source({ platform: "telegram", chatId: 7 }), config, entry),
    );
    expect(prompt).not.toMatch(/agent:main|s_secret/);
  });

  it("has the same lines for all names of people", () => {
    const lines = contextPrompt(context(group, config)).split("\n").length;
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), (text) => {
        const named = { ...group, userName: `x${text}`, chatName: `x${text}`, chatTopic: `x${text}` };
        expect(contextPrompt(context(named, config)).split("\n")).toHaveLength(lines);
      }),
    );
  });
});

describe("the context prompt with redaction", () => {
  it("hides ids and the thread, keeps names", () => {
    const prompt = contextPrompt(context(group, config), ON);
    expect(prompt).toContain(
      "**Source:** Telegram (group: Dev Chat)\n**Channel Topic:** Releases\n**User:** alice\n",
    );
    expect(prompt).toContain("- telegram: Home base (ID: fd5f56b40a79)");
    expect(prompt).not.toMatch(/17585|99999|12345|2285219667/);
    expect(prompt).toContain("masked");
  });

  it("mentions masked IDs only if one is shown", () => {
    const named = { platform: "telegram", chatId: 7, userId: 8, userName: "alice" };
    expect(contextPrompt(context(named), ON)).not.toContain("masked");
    expect(contextPrompt(context({ ...named, userName: "+15551234567" }), ON)).toContain("masked");
    expect(contextPrompt(context(named, config), ON)).toContain("masked");
  });

  it("shows hashes if there is no name", () => {
    const unnamed = contextPrompt(
      context({ platform: "signal", chatId: "group:99999", chatType: "group", userId: "user-123" }),
      ON,
    );
    expect(unnamed).toContain("**Source:** Signal (group: group:fd5f56b40a79)");
    expect(unnamed).toContain("**User ID:** user_fcdec6df4d44");
    expect(unnamed).toContain("The IDs shown above are masked");
    const direct = contextPrompt(context({ platform: "whatsapp", chatId: 1, userId: "user-123" }), ON);
    expect(direct).toContain("DM with user_fcdec6df4d44");
  });

  it("hides a name that is a phone number", () => {
    const prompt = contextPrompt(
      context({ platform: "whatsapp", chatId: "1", chatName: "+1 555 123 4567", userName: "+15551234567" }),
      ON,
    );
    expect(prompt).toContain("**User:** user_8a59780bb8cd");
    expect(prompt).not.toContain("555");
  });

  it.each(["discord", "slack"])("changes nothing on %s, where mentions need real ids", (platform) => {
    const there = context({ ...group, platform }, config);
    expect(contextPrompt(there, ON)).toBe(contextPrompt(there));
  });

  it("in strict hides names, topics and ids, other platforms' home channels included", () => {
    const secrets = /alice|Dev Chat|Releases|Home base|12345|17585|99999|2285219667/;
    expect(contextPrompt(context(group, config), STRICT)).not.toMatch(secrets);
    const discord = contextPrompt(context({ ...group, platform: "discord" }, config), STRICT);
    expect(discord).toContain("**User ID:** 12345");
    expect(discord).not.toMatch(/alice|Dev Chat|Releases|Home base|99999/);
  });

  it("uses the privacy setting of the configuration", () => {
    const from = { ...config, ...ON };
    expect(contextPrompt(context(group, from), from)).toBe(contextPrompt(context(group, config), ON));
  });
});

describe("notes to the model", () => {
  it.each(["idle", "daily"] as const)("report after a reset (%s) that the conversation is new", (reason) => {
    expect(resetNote(reason)).toMatch(/fresh conversation without any of its context/);
  });

  it("differ for each reason of a reset", () => {
    expect(resetNote("idle")).toContain("no activity");
    expect(resetNote("daily")).toContain("every day");
  });

  it("ask for a short introduction at the first message", () => {
    expect(firstMessageNote()).toMatch(/introducing yourself in one or two sentences.*\/help/);
  });
});

describe("the notice to the person after a reset", () => {
  it.each([
    [1440, "24h"],
    [90, "1h 30m"],
    [45, "45m"],
    [60, "1h"],
    [61, "1h 1m"],
    [0.2, "1m"],
  ])("after %d idle minutes says %s", (idleMinutes, words) => {
    const notice = resetNotice({ reason: "idle", idleMinutes, atHour: 4, handle: "k7f" });
    expect(notice).toContain(`(inactive for ${words})`);
  });

  it("contains the hour of the daily schedule", () => {
    expect(resetNotice({ reason: "daily", idleMinutes: 1440, atHour: 4, handle: "k7f" })).toBe(
      "This conversation starts fresh (daily schedule at 4:00).\nNothing was deleted. To go on where you left off:\n/resume k7f",
    );
  });

  it("ends with the exact command to go back", () => {
    for (const reason of ["idle", "daily"] as const) {
      const notice = resetNotice({ reason, idleMinutes: 30, atHour: 0, handle: "q2m" });
      expect(notice.split("\n").at(-1)).toBe("/resume q2m");
    }
  });
});
