import { mkdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import { buildToolHost } from "../../src/apps/build-tool-host.ts";
import { connectHomeProcesses } from "../../src/apps/connect-home-processes.ts";
import { resolveHome } from "../../src/apps/home.ts";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { textPart } from "../../src/core/message.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import { DEFAULT_TOOLS, TOOL_NAMES, type ToolSettings } from "../../src/core/tool-settings.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import {
  getText,
  localRunner,
  NO_RESET,
  OWNER,
  type Source,
  type Store,
  sqliteStore,
  systemClock,
} from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Platform, Receiver } from "../../src/ports/platform.ts";
import { endKeeper } from "../support/end-keeper.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type Random, seeded } from "../support/random.ts";
import { errandAgent } from "./errand-agent.ts";
import { type Reader, type Shown, type Spot, type Witness, witness } from "./witness.ts";

/** All tools for everyone, in all chats. */
export const EVERYTHING: ToolSettings = { ...DEFAULT_TOOLS, member: TOOL_NAMES, groups: TOOL_NAMES };

/** A person in a chat. */
export interface Actor extends Reader {
  /** Sends the text, and returns its id when it is stored. */
  say(words: string): Promise<string>;
  press(line: string): Promise<void>;
  /** Sends a line with a new mark, and returns the mark. */
  errand(verb: string): Promise<string>;
  /** The first message of the bot to them that contains this, sent after `since`. */
  sees(words: string | RegExp, since?: number): Promise<Shown>;
  /** Sends a command, and returns the reply. */
  ask(line: string, answer: RegExp): Promise<Shown>;
}

export interface Room {
  readonly witness: Witness;
  readonly random: Random;
  readonly store: Store;
  readonly home: string;
  readonly workspace: string;
  /** The whole log, as one text. */
  logged(): string;
  actor(person: string, spot: Spot): Actor;
}

export interface RoomOptions {
  readonly seed: number;
  readonly tools: ToolSettings;
  readonly busy?: GatewaySettings["busy"];
}

/** The owner. Everyone else is a member. */
const ANN = "ann";

/** A gateway in this process with a real keeper and an in-memory messenger. */
export async function privacyRoom({ seed, tools, busy = "queue" }: RoomOptions): Promise<Room> {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const home = resolveHome({ POSTRIDER_HOME: folder.path });
  const store = await sqliteStore({ file: home.database, mode: "workers" });
  onTestFinished(() => store.close());
  onTestFinished(() => endKeeper(home.folder));
  await store.access.linkAccount({
    account: { platform: "telegram", userId: ANN },
    person: OWNER,
    now: Date.now(),
  });
  const seen = witness();
  const random = seeded(seed);
  const workspace = home.workspaces;
  mkdirSync(workspace, { mode: 0o700 });
  const lines: string[] = [];
  const log = (fields: object, words: string): void =>
    void lines.push(`${words} ${JSON.stringify(fields, readable)}`);
  const up = Promise.withResolvers<Receiver>();
  const equipment = buildToolHost({
    home,
    environment: process.env,
    processes: connectHomeProcesses(home, store, systemClock),
    config: () => undefined,
  });
  onTestFinished(() => equipment.processes.close());
  const around = (): string => JSON.stringify([process.cwd(), process.env]);
  const settings: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: { default: NO_RESET, byType: {}, byPlatform: {} },
    scope: { threadsPerUser: false },
    privacy: {},
    access: { everywhere: { allowAll: true }, platforms: {} },
    busy,
    maxPending: 100,
    turnMinutes: 5,
    streaming: false,
    personalities: {},
    homes: [],
    // One workspace for all, so that the judge can read it; by default each person has a private one.
    tools: { ...tools, folder: workspace },
    memory: { enabled: true, flush: true },
  };
  const over = new AbortController();
  const agent = ended(errandAgent({ witness: seen, random, workspace, around }), over.signal);
  const gateway = await startGateway({
    store,
    runner: localRunner(),
    clock: systemClock,
    platforms: [messenger(seen, up)],
    settings: () => settings,
    agent: () => agent,
    log: { debug: log, info: log, warn: log, error: log },
    toolHost: equipment,
  });
  onTestFinished(() => {
    over.abort();
    return gateway.stop();
  });
  const receiver = await up.promise;
  let ids = 0;

  function actor(person: string, spot: Spot): Actor {
    const source: Source = {
      platform: "telegram",
      chatType: spot.type,
      chatId: spot.chat,
      userId: person,
      userName: person,
      ...(spot.thread !== undefined && { threadId: spot.thread }),
    };
    const next = () => {
      ids += 1;
      return { source, messageId: String(ids) };
    };
    async function say(words: string): Promise<string> {
      const inbound = next();
      await receiver.receiveMessage({ ...inbound, message: { role: "user", parts: [textPart(words)] } });
      return inbound.messageId;
    }
    const isHere = (one: Shown): boolean =>
      one.person === person && one.spot.chat === spot.chat && one.spot.thread === spot.thread;
    const sees = (words: string | RegExp, since = 0): Promise<Shown> =>
      seen.until(`${words} for ${person} in ${spot.chat}`, () =>
        seen.shown
          .slice(since)
          .find(
            (one) =>
              isHere(one) && (typeof words === "string" ? one.words.includes(words) : words.test(one.words)),
          ),
      );
    return {
      person,
      spot,
      say,
      press: (line) => receiver.receivePress({ ...next(), line }),
      async errand(verb) {
        const mark = seen.mark({ person, spot, background: verb.startsWith("/") });
        await say(`${verb} ${mark} holiday`);
        return mark;
      },
      sees,
      async ask(line, answer) {
        const since = seen.shown.length;
        const replyTo = await say(line);
        return seen.until(`an answer to ${line} for ${person} in ${spot.chat}`, () =>
          seen.shown
            .slice(since)
            .find(
              (one) =>
                isHere(one) && answer.test(one.words) && (spot.type === "dm" || one.replyTo === replyTo),
            ),
        );
      },
    };
  }
  return {
    witness: seen,
    random,
    store,
    home: home.folder,
    workspace,
    logged: () => lines.join("\n"),
    actor,
  };
}

function messenger(seen: Witness, up: PromiseWithResolvers<Receiver>): Platform {
  let sent = 0;
  return {
    name: "telegram",
    account: "1",
    traits: platformTraits("telegram"),
    run: (receiver, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve());
        receiver.markConnected();
        up.resolve(receiver);
      }),
    async send({ target, parts, buttons = [], replyTo }) {
      const pressed = buttons.flat();
      const approve = pressed.map(({ line }) => /^\/approve (\d+)$/.exec(line)?.[1]).find(Boolean);
      const { chatId, threadId, userId = "nobody" } = target;
      seen.show({
        person: userId,
        spot: {
          chat: chatId,
          type: chatId.startsWith("dm-") ? "dm" : "group",
          ...(threadId !== undefined && { thread: threadId }),
        },
        words: [getText({ parts }), ...pressed.flatMap(({ label, line }) => [label, line])].join("\n"),
        ...(approve !== undefined && { approve: Number(approve) }),
        ...(replyTo !== undefined && { replyTo }),
      });
      sent += 1;
      return { state: "sent", messageId: `bot-${sent}` };
    },
  };
}

/** An answer that a test leaves open must not block the shutdown of the gateway. */
function ended(agent: Agent, over: AbortSignal): Agent {
  return { ...agent, run: (turn, signal) => agent.run(turn, AbortSignal.any([signal, over])) };
}

/** The fields of an error, which JSON omits. */
function readable(_: string, value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}
