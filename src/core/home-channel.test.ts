import { expect, it } from "vitest";
import { formatHomeOrigin, mergeHomeChannels } from "./home-channel.ts";

const home = (platform: string, chatId: string) => ({ platform, chatId, name: `chat ${chatId}` });

it("comes from /sethome before the configuration", () => {
  const configured = [home("telegram", "1"), home("signal", "2")];
  expect(mergeHomeChannels(configured, [home("telegram", "3"), home("matrix", "4")])).toEqual([
    { ...home("matrix", "4"), from: "command" },
    { ...home("signal", "2"), from: "configuration" },
    { ...home("telegram", "3"), from: "command" },
  ]);
  expect(mergeHomeChannels([], [])).toEqual([]);
});

it("contains its origin", () => {
  expect(formatHomeOrigin({ from: "command" })).toBe("set with /sethome");
  expect(formatHomeOrigin({ from: "configuration" })).toBe("from the configuration");
});
