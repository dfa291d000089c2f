import { expect, it } from "vitest";
import { homeChannelsOf, originWords } from "./home-channel.ts";

const home = (platform: string, chatId: string) => ({ platform, chatId, name: `chat ${chatId}` });

it("is what /sethome named, before what the configuration names", () => {
  const configured = [home("telegram", "1"), home("signal", "2")];
  expect(homeChannelsOf(configured, [home("telegram", "3"), home("matrix", "4")])).toEqual([
    { ...home("matrix", "4"), from: "command" },
    { ...home("signal", "2"), from: "configuration" },
    { ...home("telegram", "3"), from: "command" },
  ]);
  expect(homeChannelsOf([], [])).toEqual([]);
});

it("says who named it", () => {
  expect(originWords({ from: "command" })).toBe("set with /sethome");
  expect(originWords({ from: "configuration" })).toBe("from the configuration");
});
