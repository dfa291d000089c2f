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

/** What ends soon is stored before the person hears that it was stopped. Who does not listen keeps nobody waiting. */
const STOP_WAIT_MS = 50;

/** The place in which a command was given in a messenger. */
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
  const routing = () => buildRouting(source, { ...settings, clock });

  async function look(): Promise<{ conversation: Conversation; session: Session } | undefined> {
    const conversation = await findSourceConversation(flow, who, source);
    if (conversation === undefined) return undefined;
    const found = await store.sessions.find({ asker: who, text: conversation.session });
    const session = found.find(({ id }) => id === conversation.session);
    return session && { conversation, session };
  }

  /** Nobody in the chat waits for whoever listens. */
  async function mark(session: string): Promise<void> {
    const about = { session, platform: source.platform, chat: source.chatId };
    if (await scheduleFlush(flow, session))
      runInBackground(flow.log, "a hook", flow.hooks.emit("session:flush", about));
  }

  return {
    sessions: flushBeforeSwitch(sessions, { findCurrent: look }, mark),
    store,
    who,
    role,
    source,
    agent: flow.agent((await look())?.conversation.settings ?? {}),
    policy: resolveResetPolicy(settings.reset, source.platform, source.chatType),
    zone: settings.zone,
    busy: settings.busy,
    speaker: createSpeakerFinder(source, settings),
    personalities: settings.personalities,
    configured: settings,
    now: () => clock.now(),
    random: (bytes) => clock.random(bytes),
    chat: {
      open: () => store.conversations.open(routing()),
      findCurrent: look,
      async stop(conversation) {
        const meant = conversation ?? (await look())?.conversation.number;
        return meant !== undefined && turns.stop({ conversation: meant }, STOP_WAIT_MS);
      },
      async cancelPending(conversation) {
        return (await store.inbox.cancelPending({ conversation, now: clock.now() })).map(getText);
      },
      isAnswering: (session) => turns.isRunning(session),
    },
    startBackgroundTask: (prompt) => startBackgroundTask(flow, source, prompt),
    ...(flow.toolHost !== undefined && { processes: flow.toolHost.processes }),
    ...(flow.customCommands !== undefined && { customCommands: flow.customCommands }),
  };
}

/** The conversation in which this source speaks, without touching anything. */
export async function findSourceConversation(
  flow: Pick<Flow, "store" | "settings">,
  asker: Asker,
  source: Source,
): Promise<Conversation | undefined> {
  const { scope, profile } = flow.settings();
  const found = await flow.store.conversations.findConversations({ asker, source });
  // Somebody with two accounts in one group has two conversations there.
  const key = sessionKey(buildIdentity(source, scopeFor(scope, source.platform), profile));
  return found.find((conversation) => conversation.key === key) ?? found[0];
}

/** A session of its own, in which the prompt is answered at once, while the chat goes on in its own. */
async function startBackgroundTask(flow: Flow, from: Source, prompt: string): Promise<Session> {
  const { store, clock, runner, turns } = flow;
  // A conversation beside the chat's: it points to another session for every task.
  const source = { ...from, chatType: "background" };
  const never = {
    ...resolveResetPolicy(flow.settings().reset, from.platform, from.chatType),
    mode: "none",
  } as const;
  // Whoever asked for it owns it, also where others share the chat's own conversation.
  const routing = () =>
    buildRouting(source, { ...flow.settings(), scope: {}, clock }, { kind: "background", policy: never });
  const { session } = await store.conversations.open({ ...routing(), fresh: true });
  const messageId = `background:${session.id}`;
  const accepted = await store.inbox.accept({
    ...routing(),
    messageId,
    message: {
      role: "user",
      parts: [textPart(prompt)],
      origin: { platform: from.platform },
    },
    claim: { runner, take: "one" },
  });
  const turn = accepted.duplicate || accepted.tooMany !== undefined ? undefined : accepted.turn;
  if (turn !== undefined) runInBackground(flow.log, "a background task", turns.run(turn));
  return session;
}
