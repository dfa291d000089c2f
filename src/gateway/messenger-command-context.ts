import type { ChatCommandContext } from "../commands/command.ts";
import { type AccessRole, getSenderAccount } from "../core/access.ts";
import type { Conversation } from "../core/conversation.ts";
import { buildIdentity, scopeFor } from "../core/identity.ts";
import { sessionKey } from "../core/key.ts";
import { getText, textPart } from "../core/message.ts";
import { type Asker, getChatAudience, NOBODY } from "../core/owner.ts";
import { resolveResetPolicy } from "../core/reset-policy.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import { buildRouting } from "../sessions/routing.ts";
import { flushBeforeSwitch } from "../turns/flush-before-switch.ts";
import { createSpeakerFinder } from "../turns/speakers.ts";
import { type Flow, runInBackground } from "./flow.ts";
import { scheduleFlush } from "./report-session-left.ts";

/** How long /stop waits for the turn to be stored before it replies. An agent that ignores the signal delays no reply. */
const STOP_WAIT_MS = 50;

/** The context of a command that was given in a messenger. */
export async function buildMessengerCommandContext(
  flow: Flow,
  source: Source,
  role: AccessRole,
): Promise<ChatCommandContext> {
  const { store, sessions, clock, turns } = flow;
  const settings = flow.settings();
  const known = await store.access.getAccount(getSenderAccount(source));
  const chat = getChatAudience(source);
  const who: Asker = { person: known?.person ?? NOBODY, ...(chat !== undefined && { chat }) };
  const getRouting = () => buildRouting(source, { ...settings, clock });

  async function findCurrent(): Promise<{ conversation: Conversation; session: Session } | undefined> {
    const conversation = await findSourceConversation(flow, who, source);
    if (conversation === undefined) return undefined;
    const session = await store.sessions.getSession({ asker: who, session: conversation.session });
    return session && { conversation, session };
  }

  /** The chat does not wait for hooks. */
  async function mark(session: string): Promise<void> {
    const about = { session, platform: source.platform, chat: source.chatId };
    if (await scheduleFlush(flow, session))
      runInBackground(flow.log, "a hook", flow.hooks.emit("session:flush", about));
  }

  return {
    sessions: flushBeforeSwitch(sessions, { findCurrent }, mark),
    store,
    who,
    role,
    source,
    agent: flow.agent((await findCurrent())?.conversation.settings ?? {}),
    policy: resolveResetPolicy(settings.reset, source.platform, source.chatType),
    zone: settings.zone,
    busy: settings.busy,
    speaker: createSpeakerFinder(source, settings),
    personalities: settings.personalities,
    configured: settings,
    now: () => clock.now(),
    random: (bytes) => clock.random(bytes),
    chat: {
      open: () => store.conversations.open(getRouting()),
      findCurrent,
      async stop(conversation) {
        const number = conversation ?? (await findCurrent())?.conversation.number;
        if (number === undefined) return false;
        if (await turns.stop({ conversation: number }, STOP_WAIT_MS)) return true;
        return flow.isShared && store.turns.requestStop({ conversation: number, now: clock.now() });
      },
      async cancelPending(conversation) {
        return (await store.inbox.cancelPending({ conversation, now: clock.now() })).map(getText);
      },
      isAnswering: (session) =>
        turns.isRunning(session) ||
        (flow.isShared && session !== undefined && store.turns.isSessionAnswering({ session })),
    },
    startBackgroundTask: (prompt) => startBackgroundTask(flow, source, prompt),
    ...(flow.toolHost !== undefined && { processes: flow.toolHost.processes }),
    ...(flow.customCommands !== undefined && { customCommands: flow.customCommands }),
  };
}

/** Finds the conversation of a source, without changing anything. */
export async function findSourceConversation(
  flow: Pick<Flow, "store" | "settings">,
  asker: Asker,
  source: Source,
): Promise<Conversation | undefined> {
  const { scope, profile } = flow.settings();
  const found = await flow.store.conversations.findConversations({ asker, source });
  // A person with two accounts in one group has two conversations there.
  const key = sessionKey(buildIdentity(source, scopeFor(scope, source.platform), profile));
  return found.find((conversation) => conversation.key === key) ?? found[0];
}

/** Answers the prompt at once in a new session, while the chat continues in its own. */
async function startBackgroundTask(flow: Flow, from: Source, prompt: string): Promise<Session> {
  const { store, clock, runner, turns } = flow;
  // A conversation beside the chat's, which points to a new session for every task.
  const source = { ...from, chatType: "background" };
  const never = {
    ...resolveResetPolicy(flow.settings().reset, from.platform, from.chatType),
    mode: "none",
  } as const;
  // The requester owns it, even where others share the conversation of the chat.
  const getRouting = () =>
    buildRouting(source, { ...flow.settings(), scope: {}, clock }, { kind: "background", policy: never });
  const { session } = await store.conversations.open({ ...getRouting(), fresh: true });
  const messageId = `background:${session.id}`;
  const accepted = await store.inbox.accept({
    ...getRouting(),
    messageId,
    message: {
      role: "user",
      parts: [textPart(prompt)],
      origin: { platform: from.platform },
    },
    ...(flow.hasRoom() && { claim: { runner, take: "one" } }),
  });
  const turn = accepted.duplicate || accepted.tooMany !== undefined ? undefined : accepted.turn;
  if (turn !== undefined) runInBackground(flow.log, "a background task", turns.run(turn));
  return session;
}
