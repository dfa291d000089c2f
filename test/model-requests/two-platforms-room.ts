import { onTestFinished } from "vitest";
import { chooseAgent } from "../../src/apps/choose-agent.ts";
import { textPart } from "../../src/core/message.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { getText, localRunner, type Source } from "../../src/index.ts";
import type { Outbound, Platform, Receiver } from "../../src/ports/platform.ts";
import { listeners } from "../support/listeners.ts";
import { openHome } from "../support/test-home.ts";
import type { FullHome } from "./full-home.ts";

export interface TwoPlatformsRoom {
  /** Sends the text, and returns all texts of the chat, as soon as there are this many more. */
  ask(source: Source, words: string, more?: number): Promise<readonly string[]>;
  /** Moves the clock; the connections stay. */
  pass(ms: number): Promise<void>;
}

/** A gateway with these in-memory platforms, on a fake clock, with the settings and the model of this home. */
export async function twoPlatformsRoom(at: FullHome, names: readonly string[]): Promise<TwoPlatformsRoom> {
  const { store, clock } = await openHome();
  const config = at.config();
  const settings = { ...config.gateway, access: { everywhere: { allowAll: true }, platforms: {} } };
  const { agent } = await chooseAgent("model", {}, config.model);
  const sent: Outbound[] = [];
  const changes = listeners();
  const receivers = new Map<string, Receiver>();
  const platforms = names.map((name): Platform => {
    return {
      name,
      account: "1",
      traits: platformTraits(name),
      run: (receiver, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve());
          receiver.markConnected();
          receivers.set(name, receiver);
          changes.tell();
        }),
      async send(out) {
        sent.push(out);
        changes.tell();
        return { state: "sent", messageId: `bot-${sent.length}` };
      },
    };
  });
  const nothing = (): void => {};
  const gateway = await startGateway({
    store,
    runner: localRunner(),
    clock,
    platforms,
    settings: () => settings,
    agent: () => agent,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  });
  onTestFinished(() => gateway.stop());
  await changes.until(() => (receivers.size === names.length ? true : undefined));
  let ids = 0;
  const textsIn = ({ platform, chatId }: Source): readonly string[] =>
    sent.filter(({ target }) => target.platform === platform && target.chatId === chatId).map(getText);
  return {
    async ask(source, words, more = 1) {
      const count = textsIn(source).length + more;
      ids += 1;
      const message = { role: "user", parts: [textPart(words)] } as const;
      await receivers.get(source.platform)?.receiveMessage({ source, messageId: String(ids), message });
      return changes.until(() => (textsIn(source).length >= count ? textsIn(source) : undefined));
    },
    async pass(ms) {
      clock.pass(ms);
      for (const receiver of receivers.values()) receiver.markConnected();
      while ((await store.runners.listLeases({ now: clock.now() })).length < names.length)
        await new Promise(setImmediate);
    },
  };
}
