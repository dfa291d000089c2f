import { onTestFinished } from "vitest";
import type { ChatCommandContext, CommandReply } from "../../src/commands/command.ts";
import { runChatCommand } from "../../src/commands/table.ts";
import type { AccessRole } from "../../src/core/access.ts";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { textPart } from "../../src/core/message.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import type { Flow } from "../../src/gateway/flow.ts";
import { buildMessengerCommandContext } from "../../src/gateway/messenger-command-context.ts";
import {
  type Accepted,
  buildRouting,
  DEFAULT_RESET_POLICY,
  localRunner,
  OWNER,
  type Session,
  type Source,
} from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { activeTurns } from "../../src/turns/active-turns.ts";
import type { Home } from "./test-home.ts";

export const telegram: Source = {
  platform: "telegram",
  chatType: "dm",
  chatId: "42",
  userId: "42",
  userName: "Ada",
};

export interface RoomOptions {
  readonly source?: Source;
  readonly role?: AccessRole;
  readonly settings?: Partial<GatewaySettings>;
}

type Taken = Extract<Accepted, { readonly session: Session }>;

/** A chat of a gateway without a messenger: messages are answered and commands run. */
export interface MessengerRoom {
  /** Another chat of the same gateway. */
  at(source: Source, role?: AccessRole): Promise<MessengerRoom>;
  /** Created again for every line, as in the gateway. */
  place(): Promise<ChatCommandContext>;
  say(words: string): Promise<Taken>;
  /** Sends the text, and waits for the end of its turn. */
  ask(words: string): Promise<Taken>;
  command(line: string): Promise<CommandReply>;
  tell(line: string): Promise<string>;
}

export async function messengerRoom(
  home: Home,
  agent: Agent,
  options: RoomOptions = {},
): Promise<MessengerRoom> {
  const { source = telegram, role = "owner" } = options;
  const { store, sessions, clock } = home;
  const { id: runner } = await alive(home);
  const settings: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} },
    scope: {},
    privacy: { redactPii: false },
    access: { everywhere: {}, platforms: {} },
    busy: "interrupt",
    maxPending: 20,
    turnMinutes: 10,
    streaming: false,
    personalities: {},
    homes: [],
    tools: DEFAULT_TOOLS,
    memory: { enabled: true, flush: true },
    ...options.settings,
  };
  const nothing = (): void => {};
  const turns = activeTurns({
    store,
    clock,
    agent: () => agent,
    nextClaim: () => ({ runner, take: "one" }),
    claimsNext: true,
    isOwn: () => true,
    onEvent: nothing,
  });
  onTestFinished(() => turns.close());
  const flow: Flow = {
    store,
    sessions,
    clock,
    runner,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    hooks: { emit: async () => {} },
    turns,
    hasRoom: () => true,
    isShared: false,
    signal: turns.closing,
    settings: () => settings,
    agent: () => agent,
    getConnection: () => undefined,
    platforms: [],
  };
  return roomAt(flow, source, role);
}

async function roomAt(flow: Flow, source: Source, role: AccessRole): Promise<MessengerRoom> {
  const { store, clock, runner, turns } = flow;
  if (role === "owner")
    await store.access.linkAccount({ account: accountOf(source), person: OWNER, now: clock.now() });
  let said = 0;
  const place = (): Promise<ChatCommandContext> => buildMessengerCommandContext(flow, source, role);
  const command = async (line: string): Promise<CommandReply> => {
    const [, name = "", args = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
    return runChatCommand(await place(), name, args);
  };
  const accept = async (words: string): Promise<Taken> => {
    said += 1;
    const messageId = `${source.chatId}-${source.userId}-${said}`;
    const accepted = await store.inbox.accept({
      ...buildRouting(source, { ...flow.settings(), clock }),
      messageId,
      message: {
        role: "user",
        parts: [textPart(words)],
        origin: { platform: source.platform, platformMessageId: messageId },
      },
      claim: { runner, take: "one" },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined) throw new Error("the message was not accepted");
    return accepted;
  };
  return {
    at: (other, as = "owner") => roomAt(flow, other, as),
    place,
    command,
    tell: async (line) => (await command(line)).text,
    async say(words) {
      const accepted = await accept(words);
      if (accepted.turn !== undefined) turns.run(accepted.turn).catch(() => {});
      return accepted;
    },
    async ask(words) {
      const accepted = await accept(words);
      if (accepted.turn === undefined) throw new Error("another turn is running");
      await turns.run(accepted.turn);
      return accepted;
    },
  };
}

async function alive({ store, clock }: Home) {
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  return runner;
}

function accountOf({ platform, userId, userIdAlt }: Source) {
  return {
    platform,
    ...(userId !== undefined && { userId }),
    ...(userIdAlt !== undefined && { altId: userIdAlt }),
  };
}
