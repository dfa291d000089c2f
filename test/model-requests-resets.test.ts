import { describe, expect, it } from "vitest";
import { hashChat } from "../src/core/redaction.ts";
import type { Source } from "../src/index.ts";
import { expectInOrder } from "./model-requests/expect-in-order.ts";
import { fullHome, INSTRUCTIONS } from "./model-requests/full-home.ts";
import { readRequest } from "./model-requests/read-request.ts";
import { twoPlatformsRoom } from "./model-requests/two-platforms-room.ts";
import { recordingEndpoint } from "./support/recording-endpoint.ts";
import { HOUR, MINUTE } from "./support/test-home.ts";

const telegram: Source = {
  platform: "telegram",
  chatType: "dm",
  chatId: "42",
  userId: "42",
  userName: "Ada",
};
const signal: Source = { ...telegram, platform: "signal", chatId: "+491701234567" };

async function room(...platforms: readonly string[]) {
  const endpoint = await recordingEndpoint({ answers: [{ say: "Yes." }] });
  const at = fullHome({ url: endpoint.url });
  const asked = async (count: number) =>
    readRequest((await endpoint.untilAsked("answer", count)).at(count - 1));
  return { ...(await twoPlatformsRoom(at, platforms)), asked };
}

describe("the home channels in a model request", () => {
  it.each([[["telegram", "signal"]], [["signal", "telegram"]]])(
    "are those of the connected platforms, in order: %s",
    async (platforms) => {
      const { ask, asked } = await room(...platforms);
      await ask(telegram, "Hello");
      const lines: Readonly<Record<string, string>> = {
        telegram: `- telegram: Den (ID: ${hashChat("-1001234567")})`,
        signal: `- signal: Barn (ID: ${hashChat("group:barn-4711")})`,
      };
      const homes = ["**Home Channels:**", ...platforms.map((name) => lines[name])].join("\n");
      const connected = platforms.map((name) => `, ${name}: Connected ✓`).join("");
      expectInOrder(await asked(1), [
        INSTRUCTIONS,
        `**Connected Platforms:** local (files on this machine)${connected}`,
        homes,
      ]);
    },
  );
});

describe("a reset by policy", () => {
  it("is announced to the model once, and to the person by the policy of their platform", async () => {
    const { ask, asked, pass } = await room("telegram", "signal");
    await ask(telegram, "one");
    await pass(80 * MINUTE);
    await ask(telegram, "two");
    expect(await asked(2)).toMatchObject({
      notes: [],
      messages: [{ text: "one" }, { text: "Yes." }, { text: "two" }],
    });
    await pass(91 * MINUTE);
    // The notice, then the answer.
    const texts = await ask(telegram, "three", 2);
    expect(texts.slice(-2)).toEqual([
      expect.stringMatching(/^This conversation starts fresh \(inactive for 1h 30m\)\.[\s\S]*\/resume \w+/),
      "Yes.",
    ]);
    const afresh = await asked(3);
    expect(afresh.messages).toEqual([{ role: "user", text: "three" }]);
    expect(afresh.notes).toEqual([
      expect.stringContaining("because there had been no activity for a long time"),
    ]);
    await ask(telegram, "four");
    expect((await asked(4)).notes).toEqual([]);

    await ask(signal, "one");
    await pass(20 * HOUR);
    expect((await ask(signal, "two", 2)).at(-2)).toMatch(
      /^This conversation starts fresh \(daily schedule at 6:00\)/,
    );
    const daily = await asked(6);
    expect(daily.messages).toEqual([{ role: "user", text: "two" }]);
    expect(daily.notes).toEqual([expect.stringContaining("start over every day at a set hour")]);
  });

  it("is shown by commands with the policy of the platform", async () => {
    const { ask } = await room("telegram", "signal");
    await ask(telegram, "one");
    await ask(signal, "one");
    expect((await ask(telegram, "/platforms")).at(-1)).toContain("after 90 minutes of silence");
    expect((await ask(signal, "/platforms")).at(-1)).toContain("daily at 06:00");
  });
});
