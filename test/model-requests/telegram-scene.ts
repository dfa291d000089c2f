import { OWNER } from "../../src/index.ts";
import type { FakeTelegram } from "../../src/testing/fake-telegram/index.ts";
import { type GatewayProgram, gatewayScene } from "../support/gateway-program.ts";
import type { FullHome } from "./full-home.ts";

/** Ids that no other text of a request contains by chance. */
export const ADA = 70012345;
export const BOB = 70054321;
/** A person whose name is a phone number. */
export const CARL = 70099999;
export const CARLS_NAME = "+49 170 1234567";

export interface TelegramScene {
  readonly fake: FakeTelegram;
  /** Ada's direct chat. She is the owner of the home. */
  readonly direct: number;
  /** A group with Ada, Bob and Carl. */
  readonly group: number;
  start(): Promise<GatewayProgram>;
  /** Sends the text and waits for the bot's next message there. */
  ask(chat: number, user: number, text: string): Promise<string>;
  /** The same for any other action. */
  answerTo(chat: number, act: () => Promise<unknown>): Promise<string>;
}

/** A fake Telegram, and a gateway process for this home. */
export async function telegramScene(at: FullHome): Promise<TelegramScene> {
  const { fake, gateway } = await gatewayScene(at.home);
  const people = [
    [ADA, "Ada"],
    [BOB, "Bob"],
    [CARL, CARLS_NAME],
  ] as const;
  for (const [id, firstName] of people) await fake.addUser({ id, firstName });
  const direct = await fake.openDm(ADA);
  const group = await fake.openGroup({ title: "Stable" });
  const store = await at.openStore();
  await store.access.linkAccount({
    account: { platform: "telegram", userId: String(ADA) },
    person: OWNER,
    now: Date.now(),
  });
  const answers = async (chat: number): Promise<readonly string[]> =>
    (await fake.messages(chat)).filter(({ by }) => by === "bot").map(({ text }) => text);
  const answerTo: TelegramScene["answerTo"] = async (chat, act) => {
    const before = (await answers(chat)).length;
    await act();
    await fake.untilAnswered(chat, before + 1);
    return (await answers(chat))[before] ?? "";
  };
  return {
    fake,
    direct,
    group,
    start: () =>
      gateway([], { ...at.environment, TELEGRAM_ALLOWED_USERS: people.map(([id]) => id).join(",") }),
    ask: (chat, user, text) => answerTo(chat, () => fake.say(chat, user, text)),
    answerTo,
  };
}
