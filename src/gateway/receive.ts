import { CHAT_COMMANDS } from "../commands/table.ts";
import type { Role } from "../core/access.ts";
import { accountOf, roleOf } from "../core/access.ts";
import { findCommand, parseCommand } from "../core/command-grammar.ts";
import { PostriderError } from "../core/errors.ts";
import { text } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Cursor } from "../core/turn.ts";
import type { Inbound, Receiver } from "../ports/platform.ts";
import { messageAcceptor, refuseMessage, tellTooMany } from "./accept-messages.ts";
import { chatQueues, type QueueStep } from "./chat-queues.ts";
import { droppedCursors } from "./dropped-cursors.ts";
import { type Connected, type Flow, inBackground, type Stored } from "./flow.ts";
import { type Line, runLine } from "./lines.ts";
import { type Reading, readAs, readable } from "./read-inbound.ts";
import { strangers } from "./strangers.ts";

/** An edit of a message that never arrived, when it is as young as this, is the message. */
const YOUNG_MS = 2 * 60_000;
/** How many messages of a chat may wait to be stored. */
const MOST_QUEUED = 1000;
/** Messages of a chat that one commit stores. The message of another chat waits for no more than these. */
const MOST_TOGETHER = 32;

type Edited = Inbound & { readonly saidAt: number };

type Arrival =
  | { readonly kind: "message"; readonly inbound: Inbound }
  | { readonly kind: "edited"; readonly inbound: Edited }
  /** Taken by itself: a press of a button, a deletion. */
  | {
      readonly kind: "single";
      readonly inbound: Pick<Inbound, "source">;
      readonly take: () => Promise<Stored>;
    };

/**
 * Takes in what a platform brings. Everything is stored before it is acknowledged, once; commands are recognised before
 * anything waits, so that they work while a turn runs.
 */
export function receiver(flow: Flow, connected: Connected, isUp: () => void): Receiver {
  const { store, clock } = flow;
  const acceptor = messageAcceptor(flow, connected);
  const dropped = droppedCursors(flow);
  const unknown = strangers(flow, connected, dropped);

  /** In the order of arrival within a chat: what is said after `/new` belongs to the new session. */
  const queues = chatQueues<Arrival>({
    most: MOST_QUEUED,
    together: MOST_TOGETHER,
    take,
    overflow,
    failed: (error) => flow.log.error({ error }, "what arrived could not be taken in"),
  });
  /** Chats that were told that their queue is full. */
  const toldFull = new Set<string>();

  function queue(arrival: Arrival): Promise<void> {
    return queues.add(queueName(arrival.inbound.source), arrival);
  }

  async function overflow({ inbound: { source } }: Arrival): Promise<void> {
    const name = queueName(source);
    if (toldFull.has(name)) return;
    toldFull.add(name);
    if ((await roleAt(source)) !== undefined) await tellTooMany(connected, source, MOST_QUEUED);
  }

  async function take(arrivals: readonly [Arrival, ...Arrival[]]): Promise<QueueStep> {
    const [first] = arrivals;
    if (arrivals.length < MOST_TOGETHER) toldFull.delete(queueName(first.inbound.source));
    if (first.kind === "single") return { taken: 1, ...(await first.take()) };
    if (first.kind === "edited") return takeEdits(leading(arrivals, isEdit).map(({ inbound }) => inbound));
    return takeMessages(leading(arrivals, isMessage).map(({ inbound }) => inbound));
  }

  async function roleAt(source: Source): Promise<Role | undefined> {
    const known = await store.account(accountOf(source));
    return roleOf(flow.settings().access, source, known);
  }

  /** Each sender's role is read once, however many messages they sent. */
  async function readAll(inbounds: readonly Inbound[]): Promise<readonly Reading[]> {
    const roles = new Map<string, Promise<Role | undefined>>();
    for (const { source } of inbounds)
      if (!roles.has(senderName(source))) roles.set(senderName(source), roleAt(source));
    return Promise.all(
      inbounds.map(async (inbound) => readAs(inbound, await roles.get(senderName(inbound.source)))),
    );
  }

  /** Messages that follow each other are stored together; a command waits until those before it are stored. */
  async function takeMessages(inbounds: readonly Inbound[]): Promise<QueueStep> {
    const readings = await readAll(inbounds);
    const [first] = readings;
    const [inbound] = inbounds;
    if (first === undefined || inbound === undefined) return { taken: inbounds.length };
    switch (first.as) {
      case "command": {
        const replyTo = inbound.source.chatType === "dm" ? {} : { replyTo: inbound.messageId };
        return { taken: 1, ...(await takeLine({ ...inbound, ...replyTo }, first.words, first.role)) };
      }
      case "unreadable":
        return { taken: 1, ...(await refuseMessage(flow, connected, inbound, first.reason)) };
      case "stranger":
        return takeStrangers(inbounds.slice(0, leading(readings, isStranger).length));
      default: {
        const ready = leading(readings, isReady);
        // Files travel alone, so that one commit does not copy many of them.
        const alone = ready.findIndex((one) => one.inbound.blobs !== undefined);
        const together = alone === -1 ? ready : ready.slice(0, Math.max(1, alone));
        return { taken: await acceptor.accept([first, ...together.slice(1)]) };
      }
    }
  }

  async function takeStrangers(inbounds: readonly Inbound[]): Promise<QueueStep> {
    let taken = 0;
    for (const inbound of inbounds) {
      const { after } = await unknown.meet(inbound);
      taken += 1;
      if (after !== undefined) return { taken, after };
    }
    return { taken };
  }

  /** Of several edits of one message only the last is stored. */
  async function takeEdits(inbounds: readonly Edited[]): Promise<QueueStep> {
    const last = [...new Map(inbounds.map((inbound) => [inbound.messageId, inbound])).values()];
    const readings = await readAll(last);
    const stored = await Promise.all(last.map((inbound, at) => takeEdit(inbound, readings[at])));
    for (const [at, inbound] of last.entries()) {
      // Its first form may still be on its way; it will be a duplicate.
      const isYoung = clock.now() - inbound.saidAt < YOUNG_MS;
      if (stored[at] === "unknown" && isYoung) stored[at] = await takeMessages([inbound]);
    }
    const after = stored.flatMap((one) => (typeof one === "object" ? (one.after ?? []) : []));
    return { taken: inbounds.length, after: Promise.all(after).then(() => {}) };
  }

  async function takeEdit(inbound: Edited, reading: Reading | undefined): Promise<Stored | "unknown"> {
    if (reading === undefined || reading.as === "stranger") {
      dropped.note(inbound.cursor);
      return {};
    }
    const message = readable(inbound);
    if (message instanceof PostriderError) return refuseMessage(flow, connected, inbound, message);
    const { source, messageId, blobs, cursor } = inbound;
    const outcome = await store.reconsider({
      profile: flow.settings().profile,
      source,
      messageId,
      message,
      now: clock.now(),
      ...(blobs !== undefined && { blobs }),
      ...(cursor !== undefined && { cursor }),
    });
    return outcome === "unknown" ? outcome : {};
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
    const message = readable(inbound);
    if (message instanceof PostriderError) await refuseMessage(flow, connected, inbound, message);
    else await acceptor.accept([{ inbound, message }], patiently);
  }

  return {
    canSpeak: async (source) => (await roleAt(source)) !== undefined,
    message: (inbound) => queue({ kind: "message", inbound }),
    edited: (inbound) => queue({ kind: "edited", inbound }),
    deleted(inbound) {
      const { source, messageId, cursor } = inbound;
      const take = async (): Promise<Stored> => {
        const { profile } = flow.settings();
        await store.reconsider({ profile, source, messageId, now: clock.now(), ...(cursor && { cursor }) });
        return {};
      };
      return queue({ kind: "single", inbound, take });
    },
    pressed(press) {
      const take = async (): Promise<Stored> => {
        const role = await roleAt(press.source);
        if (role !== undefined) return takeLine(press, press.line, role);
        dropped.note(press.cursor);
        return {};
      };
      return queue({ kind: "single", inbound: press, take });
    },
    connected: isUp,
    cursor: (name) => store.cursor({ name }),
  };
}

function queueName({ chatId, threadId = "" }: Source): string {
  return `${chatId}\n${threadId}`;
}

function senderName({ userId, userIdAlt, chatId, chatType }: Source): string {
  return JSON.stringify([userId, userIdAlt, chatId, chatType]);
}

/** The items before the first of another kind. */
function leading<Item, Kind extends Item>(
  items: readonly Item[],
  isKind: (item: Item) => item is Kind,
): readonly Kind[] {
  const end = items.findIndex((item) => !isKind(item));
  return items.slice(0, end === -1 ? items.length : end).filter(isKind);
}

const isMessage = (arrival: Arrival): arrival is Arrival & { kind: "message" } => arrival.kind === "message";
const isEdit = (arrival: Arrival): arrival is Arrival & { kind: "edited" } => arrival.kind === "edited";
const isStranger = (reading: Reading): reading is Reading & { as: "stranger" } => reading.as === "stranger";
const isReady = (reading: Reading): reading is Reading & { as: "message" } => reading.as === "message";
