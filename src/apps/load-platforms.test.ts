import { expect, it, onTestFinished } from "vitest";
import { telegramScene } from "../../test/support/telegram.ts";
import { startListener } from "../testing/platform-scene.ts";
import type { Config } from "./config/config.ts";
import { loadPlatforms } from "./load-platforms.ts";

const nothing = (): void => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";

function connected(settings: Partial<Config["platforms"]["telegram"]>, environment: NodeJS.ProcessEnv = {}) {
  const telegram = { enabled: true, requireMention: true, replyTo: "first", ...settings } as const;
  return loadPlatforms({ platforms: { telegram } } as Config, environment, log);
}

it("connects an enabled platform with a token, and no disabled one", async () => {
  expect((await connected({ token: TOKEN })).map(({ name, account }) => [name, account])).toEqual([
    ["telegram", "110201543"],
  ]);
  expect(await connected({ enabled: false, token: TOKEN })).toEqual([]);
  expect(await connected({ enabled: false })).toEqual([]);
});

it.each([
  ["off", "first"],
  ["first", "first"],
  ["all", "all"],
] as const)(
  "tells the gateway with reply_to %s which messages of an answer are replies",
  async (replyTo, replies) => {
    expect((await connected({ token: TOKEN, replyTo })).map((platform) => platform.replyMode)).toEqual([
      replies,
    ]);
  },
);

it.each([
  [true, 0],
  [false, 1],
])("receives all messages of a group unless a mention is required: %s", async (requireMention, count) => {
  const scene = await telegramScene();
  const settings = { token: scene.fake.token, requireMention };
  const [platform] = await connected(settings, { TELEGRAM_API_ROOT: scene.fake.url });
  if (platform === undefined) throw new Error("nothing is connected");
  const listening = startListener(scene, platform, new Map());
  onTestFinished(async () => void (await listening.stop()));
  const group = await scene.fake.openGroup({ title: "Stable", kind: "supergroup" });
  await scene.fake.say(group, scene.ann, "just chatting");
  await scene.fake.untilIdle();
  expect(listening.events).toHaveLength(count);
});

it("says how to fix an enabled platform without a token", async () => {
  await expect(connected({})).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining("postrider connect telegram"),
  });
});
