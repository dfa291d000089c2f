import { beforeAll, describe, expect, it } from "vitest";
import { isMarkedAsRepeated } from "../src/core/repetition.ts";
import {
  kill,
  type OtherSide,
  type Scene,
  sceneOf,
  startTelegram,
  textsIn,
} from "./telegram-gateway/scene.ts";

const ASKING = {
  answers: [
    {
      to: "^tidy",
      say: [{ approve: { title: "Remove build?", pattern: "rm -r build" }, denied: "kept" }, "gone"],
    },
    { to: "", say: ["You said: ", { echo: true }] },
  ],
};

let telegram: OtherSide;

beforeAll(async () => {
  telegram = await startTelegram(6);
  return () => telegram.stop();
});

/** A person with an open approval request of a gateway that was killed. */
async function askThenKill(scene: Scene) {
  const { people } = scene;
  const first = scene.start({ agent: ASKING });
  await first.ready();
  const user = 7;
  await people.addUser({ id: user, firstName: "Ann" });
  const chat = await people.openDm(user);
  await people.say(chat, user, "tidy up");
  const question = await people.untilShown(chat, "May I?");
  await kill(first);
  return { people, user, chat, question };
}

/** Without marked repetitions of requests that were being sent when the gateway was killed. */
const countQuestions = (texts: readonly string[]): number =>
  texts.filter((text) => text.includes("May I?") && !isMarkedAsRepeated(text)).length;

describe("an approval request of a gateway that was killed", () => {
  it("stays open, is not sent twice, and its buttons work after the restart", async ({ onTestFinished }) => {
    const scene = sceneOf(telegram, onTestFinished);
    const { people, user, chat, question } = await askThenKill(scene);
    const second = scene.start({ agent: ASKING });
    await second.logged(({ words, fields }) => words === "a turn started" && fields.attempt === 2);
    await people.press(chat, question.id, user, "Once");
    await people.untilShown(chat, "gone");
    expect(countQuestions(await textsIn(people, chat))).toBe(1);
  });

  it.for([
    ["Once", "gone"],
    ["No", "kept"],
  ] as const)(
    "accepts the answer %s that arrived while the gateway was down",
    async ([label, said], { onTestFinished }) => {
      const scene = sceneOf(telegram, onTestFinished);
      const { people, user, chat, question } = await askThenKill(scene);
      await people.press(chat, question.id, user, label);
      scene.start({ agent: ASKING });
      await people.untilShown(chat, said);
      expect(countQuestions(await textsIn(people, chat))).toBe(1);
    },
  );

  it("is not answered by the text yes", async ({ onTestFinished }) => {
    const scene = sceneOf(telegram, onTestFinished);
    const { people, user, chat, question } = await askThenKill(scene);
    scene.start({ agent: ASKING });
    await people.say(chat, user, "yes");
    await people.untilIdle();
    expect((await textsIn(people, chat)).join("\n")).not.toContain("gone");
    await people.press(chat, question.id, user, "No");
    await people.untilShown(chat, "You said: yes");
    const texts = await textsIn(people, chat);
    expect(texts.slice(-2)).toEqual(["kept", "You said: yes"]);
  });
});
