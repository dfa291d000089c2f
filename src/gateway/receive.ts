import type { Role } from "../core/access.ts";
import { accountOf, roleOf } from "../core/access.ts";
import { findCommand, parseCommand, spokenText } from "../core/command-grammar.ts";
import { PostriderError } from "../core/errors.ts";
import { type NewMessage, text, textOf } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Cursor } from "../core/turn.ts";
import type { Inbound, Receiver } from "../ports/platform.ts";
import { readyMessages } from "../sessions/message-input.ts";
import { routingOf } from "../sessions/routing.ts";
import { CHAT_COMMANDS } from "./commands/table.ts";
import { type Connected, type Flow, inBackground, type Stored } from "./flow.ts";
import { type Line, runLine } from "./lines.ts";
import { meetStranger } from "./strangers.ts";
import { takeBehind } from "./take-behind.ts";

/** An edit of a message that never arrived, when it is as young as this, is the message. */
const YOUNG_MS = 2 * 60_000;

/**
 * Takes in what a platform brings. Everything is stored before it is acknowledged, once; commands are recognised before
 * anything waits, so that they work while a turn runs.
 */
export function receiver(flow: Flow, connected: Connected, isUp: () => void): Receiver {
  const { store, clock } = flow;
  const chats = new Map<string, Promise<unknown>>();
  const takeWaiting = takeBehind(flow);

  /** In the order of arrival within a chat: what is said after `/new` belongs to the new session. */
  function inChat({ chatId, threadId = "" }: Source, work: () => Promise<Stored>): Promise<void> {
    const name = `${chatId}\n${threadId}`;
    const stored = (chats.get(name) ?? Promise.resolve()).then(work);
    const done = stored
      .then(({ after }) => after)
      .catch((error: unknown) =>
        flow.log.error({ error, chat: chatId }, "what arrived could not be taken in"),
      )
      .finally(() => {
        if (chats.get(name) === done) chats.delete(name);
      });
    chats.set(name, done);
    return stored.then(() => {});
  }

  async function roleAt(source: Source): Promise<Role | undefined> {
    const known = await store.account(accountOf(source));
    return roleOf(flow.settings().access, source, known);
  }

  async function take(inbound: Inbound): Promise<Stored> {
    const role = await roleAt(inbound.source);
    if (role === undefined) return meetStranger(flow, connected, inbound);
    const words = textOf(inbound.message);
    const hasOnlyWords = inbound.message.parts.every(({ type }) => type === "text");
    const command = hasOnlyWords ? parseCommand(words) : undefined;
    // In a group, a command that nobody here knows is meant for somebody else.
    const isOurs =
      command !== undefined &&
      (inbound.source.chatType === "dm" || findCommand(CHAT_COMMANDS, command.name) !== undefined);
    const replyTo = inbound.source.chatType === "dm" ? {} : { replyTo: inbound.messageId };
    return isOurs ? takeLine({ ...inbound, ...replyTo }, words, role) : say(inbound, false);
  }

  async function takeLine(
    given: Pick<Line, "source" | "messageId" | "replyTo"> & { readonly cursor?: Cursor },
    words: string,
    role: Role,
  ): Promise<Stored> {
    const { source, messageId, replyTo, cursor } = given;
    const command = parseCommand(words);
    if (command === undefined) return {};
    const { duplicate, inbox } = await store.acceptLine({
      profile: flow.settings().profile,
      source,
      messageId,
      line: words,
      runner: flow.runner,
      now: clock.now(),
      ...(cursor !== undefined && { cursor }),
    });
    if (duplicate) return {};
    const line = { ...command, inbox, source, role, messageId, ...(replyTo !== undefined && { replyTo }) };
    const again = (said: string, patiently: boolean) => sayAgain(source, messageId, said, patiently);
    const done = runLine(flow, connected, line, again);
    if (!findCommand(CHAT_COMMANDS, command.name)?.slow) return { after: done };
    inBackground(flow.log, `/${command.name}`, done);
    return {};
  }

  /** As if the person had typed it. */
  async function sayAgain(
    source: Source,
    messageId: string,
    words: string,
    patiently: boolean,
  ): Promise<void> {
    const inbound = {
      source,
      messageId: `${messageId}:said`,
      message: { role: "user", parts: [text(words)], origin: { platformMessageId: messageId } },
    } as const;
    await say(inbound, patiently);
  }

  async function say(inbound: Inbound, patiently: boolean): Promise<Stored> {
    const { source, messageId, cursor, blobs } = inbound;
    const settings = flow.settings();
    const message = readable(inbound);
    if (message instanceof PostriderError) return refuse(inbound, message.message);
    const accepted = await store.accept({
      ...routingOf(source, { ...settings, clock }),
      messageId,
      message,
      mostWaiting: settings.mostWaiting,
      claim: { runner: flow.runner, take: "one" },
      ...(blobs !== undefined && { blobs }),
      ...(cursor !== undefined && { cursor }),
    });
    if (accepted.duplicate) return {};
    if (accepted.tooMany !== undefined) {
      if (accepted.isFirst) await tellTooMany(source, accepted.tooMany);
      return {};
    }
    const { turn, running, session, conversation } = accepted;
    if (turn !== undefined) inBackground(flow.log, "a turn", flow.turns.run(turn));
    else if (running === undefined || !flow.turns.isRunning(session.id))
      inBackground(flow.log, "a turn", takeWaiting(session.id, conversation));
    else {
      const mode = conversation.settings.busy ?? settings.busy;
      // A picture alone adds to what was asked, and interrupts nothing.
      if (mode === "interrupt" && !patiently && textOf(message).trim() !== "")
        inBackground(flow.log, "an interruption", flow.turns.stop({ turn: running }));
    }
    return {};
  }

  /** What cannot be stored would come again for ever: it is answered with the reason instead. */
  async function refuse({ source, messageId, cursor }: Inbound, words: string): Promise<Stored> {
    const { profile } = flow.settings();
    const { runner } = flow;
    const line = {
      profile,
      source,
      messageId,
      line: "",
      runner,
      now: clock.now(),
      ...(cursor && { cursor }),
    };
    const { duplicate, inbox } = await store.acceptLine(line);
    return duplicate ? {} : { after: connected.outbox.say(source, words, { line: inbox }) };
  }

  function tellTooMany(source: Source, waiting: number): Promise<void> {
    const words = `${waiting} messages wait here already, so this one was not taken, and none will be until some are answered. /status shows them, /stop all drops them.`;
    return connected.outbox.say(source, words);
  }

  return {
    message: (inbound) => inChat(inbound.source, () => take(inbound)),
    edited: (inbound) =>
      inChat(inbound.source, async () => {
        if ((await roleAt(inbound.source)) === undefined) return {};
        const { source, messageId, blobs, cursor } = inbound;
        const message = readable(inbound);
        if (message instanceof PostriderError) return refuse(inbound, message.message);
        const outcome = await store.reconsider({
          profile: flow.settings().profile,
          source,
          messageId,
          message,
          now: clock.now(),
          ...(blobs !== undefined && { blobs }),
          ...(cursor !== undefined && { cursor }),
        });
        // Its first form may still be on its way; it will be a duplicate.
        const isYoung = clock.now() - inbound.saidAt < YOUNG_MS;
        return outcome === "unknown" && isYoung ? take(inbound) : {};
      }),
    deleted: ({ source, messageId, cursor }) =>
      inChat(source, async () => {
        const { profile } = flow.settings();
        await store.reconsider({ profile, source, messageId, now: clock.now(), ...(cursor && { cursor }) });
        return {};
      }),
    pressed: (press) =>
      inChat(press.source, async () => {
        const role = await roleAt(press.source);
        return role === undefined ? {} : takeLine(press, press.line, role);
      }),
    connected: isUp,
    cursor: (name) => store.cursor({ name }),
  };
}

/** The message as it can be stored, or why it cannot. */
function readable(inbound: Inbound): NewMessage | PostriderError {
  try {
    const [message] = readyMessages(messageFrom(inbound)).messages;
    const isEmpty = message?.parts.every((part) => part.type === "text" && part.text.trim() === "") ?? true;
    return message === undefined || isEmpty
      ? new PostriderError("invalid_input", "That message is empty.")
      : message;
  } catch (error) {
    if (error instanceof PostriderError) return error;
    throw error;
  }
}

/** With who said it and where, and without the slash that keeps a text from being a command. */
function messageFrom({ source, messageId, message }: Inbound): NewMessage {
  const [first, ...more] = message.parts;
  const parts = first?.type === "text" ? [text(spokenText(first.text)), ...more] : message.parts;
  return {
    ...message,
    parts,
    origin: {
      platform: source.platform,
      platformMessageId: messageId,
      ...(source.userId !== undefined && { userId: source.userId }),
      ...(source.userName !== undefined && { userName: source.userName }),
      ...message.origin,
    },
  };
}
