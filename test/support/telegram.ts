import { onTestFinished } from "vitest";
import type { Source } from "../../src/core/source.ts";
import { source } from "../../src/core/source.ts";
import type { TelegramOptions } from "../../src/platforms/telegram/options.ts";
import { telegram } from "../../src/platforms/telegram/platform.ts";
import type { Timing } from "../../src/platforms/telegram/timing.ts";
import type { LogFields } from "../../src/ports/log.ts";
import type { Platform } from "../../src/ports/platform.ts";
import { type FakeTelegram, startFakeTelegram } from "../../src/testing/fake-telegram/index.ts";

/** Timers that fire at once and record their durations. */
export function noWaiting(): Timing & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  return {
    waits,
    async wait(ms) {
      waits.push(ms);
      await new Promise(setImmediate);
    },
    random: () => 1,
  };
}

/** Timers that end when the test releases them. */
export function heldWaiting(): Timing & {
  readonly waits: number[];
  release(): void;
  begun(): Promise<void>;
} {
  const waits: number[] = [];
  let release = (): void => {};
  let begin = (): void => {};
  let begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return {
    waits,
    random: () => 1,
    wait(ms, signal) {
      waits.push(ms);
      return new Promise((resolve) => {
        release = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
        begin();
      });
    },
    begun: () => begun,
    release() {
      begun = new Promise((resolve) => {
        begin = resolve;
      });
      release();
    },
  };
}

export interface Scene {
  readonly fake: FakeTelegram;
  readonly platform: Platform;
  readonly logged: { readonly words: string; readonly fields: LogFields }[];
  /** Ann's chat with the bot. */
  readonly dm: number;
  readonly ann: number;
}

/** A fake Telegram with a chat of Ann and the bot, and a platform that is connected to it. */
export async function telegramScene(options: Partial<TelegramOptions> = {}): Promise<Scene> {
  const fake = await startFakeTelegram();
  onTestFinished(() => fake.close());
  const ann = 7;
  await fake.addUser({ id: ann, firstName: "Ann", username: "ann" });
  const dm = await fake.openDm(ann);
  const logged: { words: string; fields: LogFields }[] = [];
  const take = (fields: LogFields, words: string): void => void logged.push({ words, fields });
  const log = { debug: take, info: take, warn: take, error: take };
  const platform = telegram({
    token: fake.token,
    apiRoot: fake.url,
    log,
    timing: noWaiting(),
    ...options,
  });
  return { fake, platform, logged, dm, ann };
}

export function placeIn(chat: number, more: Partial<Source> = {}): Source {
  return source({ platform: "telegram", chatId: chat, chatType: chat > 0 ? "dm" : "group", ...more });
}
