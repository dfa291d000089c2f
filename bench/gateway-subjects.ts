import { randomUUID } from "node:crypto";
import { echo } from "../src/agents/echo.ts";
import type { GatewaySettings } from "../src/core/gateway-settings.ts";
import { DEFAULT_TOOLS } from "../src/core/tool-settings.ts";
import { startGateway } from "../src/gateway/gateway.ts";
import {
  buildRouting,
  DEFAULT_RESET,
  localRunner,
  type NewMessage,
  sqliteStore,
  systemClock,
  systemZone,
  throwIfRefused,
} from "../src/index.ts";
import type { Agent } from "../src/ports/agent.ts";
import { type Messenger, messenger, NAME, sourceOf } from "./messenger.ts";
import { newFile, type Rows, text } from "./subjects.ts";

const settings: GatewaySettings = {
  zone: systemZone(),
  profile: "main",
  reset: DEFAULT_RESET,
  scope: {},
  privacy: {},
  access: { everywhere: { allowAll: true }, platforms: {} },
  busy: "interrupt",
  maxPending: 100,
  turnMinutes: 30,
  streaming: true,
  personalities: {},
  compressAt: 0.85,
  homes: [],
  tools: DEFAULT_TOOLS,
  memory: { enabled: true, flush: true },
};

/** A file in which this many people have a chat with the bot. */
export async function chatsIn(count: number): Promise<string> {
  const file = newFile();
  const store = await sqliteStore({ file, mode: "in-process" });
  for (let at = 0; at < count; at += 500) {
    const some = Array.from({ length: Math.min(500, count - at) }, (_, n) =>
      store.conversations.open(buildRouting(sourceOf(at + n), { ...settings, clock: systemClock })),
    );
    await Promise.all(some);
  }
  await store.close();
  return file;
}

export interface GatewaySubject extends Pick<Messenger, "say" | "awaited"> {
  close(): Promise<void>;
}

/** The whole gateway on this file; the agent thinks for a while before it repeats what was said. */
export async function gatewayOn(file: string, thinksMs = 0): Promise<GatewaySubject> {
  const store = await sqliteStore({ file, mode: "workers" });
  const { platform, say, awaited, watchedAgent, watchedStore } = messenger();
  const agent = watchedAgent(thinksMs === 0 ? echo : thinking(thinksMs));
  // Figures of a gateway that has failed would mean nothing: the bench ends.
  const broken = (fields: object, words: string): void =>
    queueMicrotask(() => {
      throw new Error(words, { cause: fields });
    });
  const gateway = await startGateway({
    store: watchedStore(store),
    runner: localRunner(),
    clock: systemClock,
    platforms: [platform],
    settings: () => settings,
    agent: () => agent,
    log: { debug: () => {}, info: () => {}, warn: broken, error: broken },
  });
  return {
    say,
    awaited,
    async close() {
      await gateway.stop();
      await store.close();
    },
  };
}

/** Half as long to half as long again, by turns: else whatever held all up once would bring them to their end at once. */
function thinking(ms: number): Agent {
  let turns = 0;
  return {
    ...echo,
    async *run(turn, signal) {
      turns += 1;
      const share = 0.5 + ((turns * 0.618) % 1);
      await new Promise((resolve) => setTimeout(resolve, ms * share));
      yield* echo.run(turn, signal);
    },
  };
}

/** What the gateway asks of the store for a turn, and nothing else: accept, finish, settle. */
export async function storeLoopOn(file: string): Promise<{
  turn(chat: number, index: number): Promise<void>;
  close(): Promise<void>;
}> {
  const store = await sqliteStore({ file, mode: "workers" });
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  return {
    async turn(chat, index) {
      const source = sourceOf(chat);
      const messageId = randomUUID();
      const accepted = await store.inbox.accept({
        ...buildRouting(source, { ...settings, clock: systemClock }),
        messageId,
        message: { ...said(text(index)), origin: originOf(chat, messageId) },
        maxPending: settings.maxPending,
        claim: { runner: runner.id, take: "one" },
      });
      if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
        throw new Error("the turn did not begin");
      const { number, fence, target } = accepted.turn;
      const answer = said(answerTo(index), "assistant");
      const { deliveries } = throwIfRefused(
        await store.turns.finish({
          turn: number,
          fence,
          outcome: "done",
          messages: [answer],
          deliveries: [{ target, parts: answer.parts, sendNow: true }],
          next: { runner: runner.id, take: "all" },
          now: Date.now(),
        }),
      );
      for (const { number: delivery } of deliveries)
        throwIfRefused(
          await store.outbox.settle({
            delivery,
            outcome: { state: "sent", platformMessageId: messageId },
            now: Date.now(),
          }),
        );
    },
    close: () => store.close(),
  };
}

/** The rows that a turn of the gateway leaves behind, for the bare loop. */
export const GATEWAY_ROWS: Rows = { platform: NAME, sourceOf, originOf, answerTo, delivers: true };

function said(words: string, role: NewMessage["role"] = "user"): NewMessage {
  return { role, parts: [{ type: "text", text: words }] };
}

function originOf(chat: number, platformMessageId: string): NonNullable<NewMessage["origin"]> {
  const { platform, userId = "", userName = "" } = sourceOf(chat);
  return { platform, platformMessageId, userId, userName };
}

/** As long as what the echo says when something was said before. */
function answerTo(index: number): string {
  return `You said: ${text(index)} (before that: ${text(index + 1)})`;
}
