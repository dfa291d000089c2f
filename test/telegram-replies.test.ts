import { expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import type { ReplyMode } from "../src/platforms/telegram/options.ts";
import { intakeRoom } from "./intake/room.ts";
import { telegramScene } from "./support/telegram.ts";
import { shownIn } from "./telegram-gateway/scene.ts";

/** Three messages long. */
const LONG = Array.from({ length: 900 }, (_, at) => `line ${at} of it`).join("\n");
const everyone = { access: { everywhere: { allowAll: true }, platforms: {} } };

async function opened(replyTo: ReplyMode) {
  const { fake, ann, dm, platform } = await telegramScene({ replyTo });
  const agent = script({ answers: [{ to: "", say: LONG }] });
  // Without the usual delay between the messages of one answer.
  await intakeRoom({ platform: { ...platform, getDraftIntervalMs: () => 0 }, agent, settings: everyone });
  const repliesIn = async (chat: number): Promise<readonly (number | undefined)[]> => {
    await fake.untilShown(chat, "line 899 of it");
    return (await shownIn(fake, chat)).map(({ replyTo: to }) => to);
  };
  return { fake, ann, dm, repliesIn };
}

it.each<[ReplyMode, (asked: number) => readonly (number | undefined)[]]>([
  ["off", () => [undefined, undefined, undefined, undefined]],
  ["first", (asked) => [asked, undefined, undefined, undefined]],
  ["all", (asked) => [asked, asked, asked, asked]],
])(
  "with reply_to %s, each message of a long answer in a group or topic is a reply as configured",
  async (mode, expected) => {
    const { fake, ann, repliesIn } = await opened(mode);
    const group = await fake.openGroup({ title: "Stable", kind: "supergroup" });
    const asked = await fake.say(group, ann, "@fake_bot tell me");
    expect(await repliesIn(group)).toEqual(expected(asked));
    const forum = await fake.openGroup({ title: "Riders", forum: true });
    const topic = await fake.openTopic(forum, "Horses");
    const there = await fake.say(forum, ann, "@fake_bot tell me", { topic });
    expect(await repliesIn(forum)).toEqual(expected(there));
    expect((await shownIn(fake, forum)).map((message) => message.topic)).toEqual([
      topic,
      topic,
      topic,
      topic,
    ]);
  },
);

it("sends no replies in a direct chat", async () => {
  const { fake, ann, dm, repliesIn } = await opened("all");
  await fake.say(dm, ann, "tell me");
  expect(await repliesIn(dm)).toEqual([undefined, undefined, undefined, undefined]);
});
