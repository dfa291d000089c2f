import { join } from "node:path";
import type { ChatMessage, FakeControls, FakeTelegram } from "../../src/testing/fake-telegram/index.ts";
import { connectFakeTelegram } from "../../src/testing/fake-telegram/index.ts";
import { type Child, startChild } from "../support/child.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { TelegramChildLine, TelegramChildOptions } from "./gateway-process.ts";

/** A fake Telegram in a separate process, with one bot for each scene. */
export interface OtherSide {
  readonly fake: Omit<FakeTelegram, "close">;
  /** A bot that no other test uses. */
  bot(): Bot;
  stop(): Promise<void>;
}

export interface Bot {
  readonly token: string;
  readonly username: string;
  readonly people: FakeControls;
}

export async function startTelegram(bots: number): Promise<OtherSide> {
  const names = Array.from({ length: bots }, (_, at) => ({
    token: `${4000 + at}:AAE-secret_of_bot_${at}`,
    username: `number_${at}_bot`,
  }));
  const child = startChild(
    new URL("../support/fake-telegram-process.ts", import.meta.url),
    names.flatMap(({ token, username }) => [token, username]),
  );
  const { controlUrl } = await child.heard<{ controlUrl: string }>(() => true);
  const fake = await connectFakeTelegram(controlUrl);
  const free = [...names];
  return {
    fake,
    bot() {
      const name = free.shift();
      if (name === undefined) throw new Error("There are no more bots.");
      return { ...name, people: fake.as(name.token) };
    },
    async stop() {
      child.process.kill("SIGKILL");
      await child.ended;
    },
  };
}

/** A running gateway and its output. */
export interface RunningGateway extends Child {
  /** Resolves when it is connected. */
  ready(): Promise<void>;
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
}

export type LogLine = Extract<TelegramChildLine, { words: string }>;

export function startTelegramChild(options: TelegramChildOptions): RunningGateway {
  const child = startChild(new URL("./child.ts", import.meta.url), [JSON.stringify(options)]);
  return {
    ...child,
    ready: async () => void (await child.heard<TelegramChildLine>((line) => "ready" in line)),
    logged: (fits) =>
      child.heard<TelegramChildLine>((line) => "words" in line && fits(line)) as Promise<LogLine>,
  };
}

export async function kill(child: Child): Promise<void> {
  child.process.kill("SIGKILL");
  await child.ended;
}

/** A bot with its own home, for one test. */
export interface Scene extends Bot {
  readonly home: string;
  readonly file: string;
  start(more?: Partial<TelegramChildOptions>): RunningGateway;
}

/** The options of every gateway of this scene. */
export function sceneOf(
  side: OtherSide,
  atEnd: (tidy: () => Promise<void>) => void,
  given: Partial<TelegramChildOptions> = {},
): Scene {
  const bot = side.bot();
  const folder = temporaryFolder();
  const file = join(folder.path, "postrider.db");
  const children: Child[] = [];
  atEnd(async () => {
    await Promise.all(children.map(kill));
    folder.remove();
  });
  return {
    ...bot,
    home: folder.path,
    file,
    start(more = {}) {
      const options = { file, token: bot.token, apiRoot: side.fake.url, ...given };
      const child = startTelegramChild({ ...options, ...more });
      children.push(child);
      return child;
    },
  };
}

/** The bot's current messages in a chat, in order. */
export async function shownIn(people: FakeControls, chat: number): Promise<readonly ChatMessage[]> {
  return (await people.messages(chat)).filter(({ by }) => by === "bot");
}

export async function textsIn(people: FakeControls, chat: number): Promise<readonly string[]> {
  return (await shownIn(people, chat)).map(({ text }) => text);
}
