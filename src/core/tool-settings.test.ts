import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessRole } from "./access.ts";
import { listKnownPlatforms } from "./platforms.ts";
import {
  DEFAULT_TOOLS,
  HARMLESS_TOOLS,
  selectTools,
  TOOL_NAMES,
  type ToolSettings,
} from "./tool-settings.ts";

const at = (role: AccessRole, chatType = "dm", platform = "telegram") => ({ role, platform, chatType });

describe("the tools of a turn", () => {
  it("are all tools for the owner in a direct chat, and the harmless ones in groups", () => {
    expect(selectTools(DEFAULT_TOOLS, at("owner"))).toEqual(TOOL_NAMES);
    for (const chatType of ["group", "channel", "thread", "forum"])
      expect(selectTools(DEFAULT_TOOLS, at("owner", chatType))).toEqual(HARMLESS_TOOLS);
  });

  it("are the harmless ones for everybody else, unless configured", () => {
    expect(selectTools(DEFAULT_TOOLS, at("member"))).toEqual(HARMLESS_TOOLS);
    const settings: ToolSettings = { ...DEFAULT_TOOLS, member: ["read_file", "memory"] };
    expect(selectTools(settings, at("member"))).toEqual(["read_file", "memory"]);
    expect(selectTools(settings, at("member", "group"))).toEqual(["memory"]);
  });

  it("are never more on a platform than the sender has elsewhere", () => {
    const settings: ToolSettings = { ...DEFAULT_TOOLS, byPlatform: { telegram: TOOL_NAMES, discord: [] } };
    expect(selectTools(settings, at("member"))).toEqual(HARMLESS_TOOLS);
    expect(selectTools(settings, at("owner", "group"))).toEqual(HARMLESS_TOOLS);
    expect(selectTools(settings, at("owner", "dm", "discord"))).toEqual([]);
    expect(selectTools(settings, at("owner", "dm", "local"))).toEqual(TOOL_NAMES);
  });

  it("are in the sender's list and in each list that applies, for any configuration", () => {
    const names = fc.subarray([...TOOL_NAMES]);
    const platform = fc.constantFrom(...listKnownPlatforms());
    const settings = fc.record({
      owner: names,
      member: names,
      groups: names,
      byPlatform: fc.dictionary(platform, names, { noNullPrototype: true }),
    });
    const where = fc.record({
      role: fc.constantFrom<AccessRole>("owner", "member"),
      platform,
      chatType: fc.constantFrom("dm", "group", "channel", "thread", "webhook"),
    });
    fc.assert(
      fc.property(settings, where, (given, asked) => {
        const lists = [
          given[asked.role],
          given.byPlatform[asked.platform] ?? TOOL_NAMES,
          asked.chatType === "dm" ? TOOL_NAMES : given.groups,
        ];
        expect(new Set(selectTools({ ...DEFAULT_TOOLS, ...given }, asked))).toEqual(
          new Set(TOOL_NAMES.filter((name) => lists.every((list) => list.includes(name)))),
        );
      }),
    );
  });
});
