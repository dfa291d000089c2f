import { findChatCommand } from "../commands/table.ts";
import type { AccessRole } from "../core/access.ts";
import { getSenderAccount, resolveRole } from "../core/access.ts";
import { parseCommand } from "../core/command-grammar.ts";
import { PostriderError } from "../core/errors.ts";
import { textPart } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { PlatformCursor } from "../core/turn.ts";
import type { Inbound, Receiver } from "../ports/platform.ts";
import { messageAcceptor, refuseMessage, sendQueueFullNotice } from "./accept-messages.ts";
import { chatQueues, type QueueStep } from "./chat-queues.ts";
import { type ClassifiedInbound, classifyInbound, parseInboundMessage } from "./classify-inbound.ts";
import { droppedCursors } from "./dropped-cursors.ts";
import { type Flow, type IntakeResult, type PlatformConnection, runInBackground } from "./flow.ts";
import { type InboxCommand, runInboxCommand } from "./run-inbox-command.ts";
import { strangers } from "./strangers.ts";

/** An edit of a message that never arrived, when it is as young as this, is the message. */
const MAX_EDIT_AGE_MS = 2 * 60_000;
/** How many messages of a chat may wait to be stored. */
const MOST_QUEUED = 1000;
/** Messages of a chat that one commit stores. The message of another chat waits for no more than these. */
const MAX_BATCH_SIZE = 32;

type EditedInbound = Inbound & { readonly sentAt: number };

type QueuedInbound =
  | { readonly kind: "message"; readonly inbound: Inbound }
  | { readonly kind: "edited"; readonly inbound: EditedInbound }
  /** Taken by itself: a press of a button, a deletion. */
  | {
      readonly kind: "single";
      readonly inbound: Pick<Inbound, "source">;
      readonly take: () => Promise<IntakeResult>;
    };

/**
 * Takes in what a platform brings. Everything is stored before it is acknowledged, once; commands are recognised before
 * anything waits, so that they work while a turn runs.
 */
export function receiver(flow: Flow, connected: PlatformConnection, isUp: () => void): Receiver {
  const { store, clock } = flow;
  const acceptor = messageAcceptor(flow, connected);
  const dropped = droppedCursors(flow);
  const unknown = strangers(flow, connected, dropped);

  /** In the order of arrival within a chat: what is said after `/new` belongs to the new session. */
  const queues = chatQueues<QueuedInbound>({
    maxQueued: MOST_QUEUED,
    batchSize: MAX_BATCH_SIZE,
    take,
    onOverflow: overflow,
    onError: (error) => flow.log.error({ error }, "what arrived could not be taken in"),
  });
  /** Chats that were told that their queue is full. */
  const toldFull = new Set<string>();

  function queue(arrival: QueuedInbound): Promise<void> {
    return queues.add(getQueueName(arrival.inbound.source), arrival);
  }

  async function overflow({ inbound: { source } }: QueuedInbound): Promise<void> {
    const name = getQueueName(source);
    if (toldFull.has(name)) return;
    toldFull.add(name);
    if ((await roleAt(source)) !== undefined) await sendQueueFullNotice(connected, source, MOST_QUEUED);
  }

  async function take(arrivals: readonly [QueuedInbound, ...QueuedInbound[]]): Promise<QueueStep> {
    const [first] = arrivals;
    if (arrivals.length < MAX_BATCH_SIZE) toldFull.delete(getQueueName(first.inbound.source));
    if (first.kind === "single") return { taken: 1, ...(await first.take()) };
    if (first.kind === "edited")
      return takeEdits(takeLeading(arrivals, isEdit).map(({ inbound }) => inbound));
    return takeMessages(takeLeading(arrivals, isMessage).map(({ inbound }) => inbound));
  }

  async function roleAt(source: Source): Promise<AccessRole | undefined> {
    const known = await store.access.getAccount(getSenderAccount(source));
    return resolveRole(flow.settings().access, source, known);
  }

  /** Each sender's role is read once, however many messages they sent. */
  async function readAll(inbounds: readonly Inbound[]): Promise<readonly ClassifiedInbound[]> {
    const roles = new Map<string, Promise<AccessRole | undefined>>();
    for (const { source } of inbounds)
      if (!roles.has(getSenderName(source))) roles.set(getSenderName(source), roleAt(source));
    return Promise.all(
      inbounds.map(async (inbound) =>
        classifyInbound(inbound, await roles.get(getSenderName(inbound.source)), flow.customCommands),
      ),
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
        return takeStrangers(inbounds.slice(0, takeLeading(readings, isStranger).length));
      default: {
        const ready = takeLeading(readings, isReady);
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
      const { after } = await unknown.handleMessage(inbound);
      taken += 1;
      if (after !== undefined) return { taken, after };
    }
    return { taken };
  }

  /** Of several edits of one message only the last is stored. */
  async function takeEdits(inbounds: readonly EditedInbound[]): Promise<QueueStep> {
    const last = [...new Map(inbounds.map((inbound) => [inbound.messageId, inbound])).values()];
    const readings = await readAll(last);
    const stored = await Promise.all(last.map((inbound, at) => takeEdit(inbound, readings[at])));
    for (const [at, inbound] of last.entries()) {
      // Its first form may still be on its way; it will be a duplicate.
      const isYoung = clock.now() - inbound.sentAt < MAX_EDIT_AGE_MS;
      if (stored[at] === "unknown" && isYoung) stored[at] = await takeMessages([inbound]);
    }
    const after = stored.flatMap((one) => (typeof one === "object" ? (one.after ?? []) : []));
    return { taken: inbounds.length, after: Promise.all(after).then(() => {}) };
  }

  async function takeEdit(
    inbound: EditedInbound,
    reading: ClassifiedInbound | undefined,
  ): Promise<IntakeResult | "unknown"> {
    if (reading === undefined || reading.as === "stranger") {
      dropped.record(inbound.cursor);
      return {};
    }
    const message = parseInboundMessage(inbound);
    if (message instanceof PostriderError) return refuseMessage(flow, connected, inbound, message);
    const { source, messageId, blobs, cursor } = inbound;
    const outcome = await store.inbox.editInbound({
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
    given: Pick<InboxCommand, "source" | "messageId" | "replyTo"> & { readonly cursor?: PlatformCursor },
    words: string,
    role: AccessRole,
  ): Promise<IntakeResult> {
    const { source, messageId, replyTo, cursor } = given;
    const command = parseCommand(words);
    if (command === undefined) return {};
    const { duplicate, inbox } = await store.inbox.acceptCommand({
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
    const done = runInboxCommand(flow, connected, line, again);
    if (!findChatCommand(command.name, flow.customCommands)?.isSlow) return { after: done };
    runInBackground(flow.log, `/${command.name}`, done);
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
      message: { role: "user", parts: [textPart(words)], origin: { platformMessageId: messageId } },
    } as const;
    const message = parseInboundMessage(inbound);
    if (message instanceof PostriderError) await refuseMessage(flow, connected, inbound, message);
    else await acceptor.accept([{ inbound, message }], patiently);
  }

  return {
    canSpeak: async (source) => (await roleAt(source)) !== undefined,
    receiveMessage: (inbound) => queue({ kind: "message", inbound }),
    receiveEdit: (inbound) => queue({ kind: "edited", inbound }),
    receiveDeletion(inbound) {
      const { source, messageId, cursor } = inbound;
      const take = async (): Promise<IntakeResult> => {
        const { profile } = flow.settings();
        await store.inbox.editInbound({
          profile,
          source,
          messageId,
          now: clock.now(),
          ...(cursor && { cursor }),
        });
        return {};
      };
      return queue({ kind: "single", inbound, take });
    },
    receivePress(press) {
      const take = async (): Promise<IntakeResult> => {
        const role = await roleAt(press.source);
        if (role !== undefined) return takeLine(press, press.line, role);
        dropped.record(press.cursor);
        return {};
      };
      return queue({ kind: "single", inbound: press, take });
    },
    markConnected: isUp,
    getCursor: (name) => store.inbox.getCursor({ name }),
  };
}

function getQueueName({ chatId, threadId = "" }: Source): string {
  return `${chatId}\n${threadId}`;
}

function getSenderName({ userId, userIdAlt, chatId, chatType }: Source): string {
  return JSON.stringify([userId, userIdAlt, chatId, chatType]);
}

/** The items before the first of another kind. */
function takeLeading<Item, Kind extends Item>(
  items: readonly Item[],
  isKind: (item: Item) => item is Kind,
): readonly Kind[] {
  const end = items.findIndex((item) => !isKind(item));
  return items.slice(0, end === -1 ? items.length : end).filter(isKind);
}

const isMessage = (arrival: QueuedInbound): arrival is QueuedInbound & { kind: "message" } =>
  arrival.kind === "message";
const isEdit = (arrival: QueuedInbound): arrival is QueuedInbound & { kind: "edited" } =>
  arrival.kind === "edited";
const isStranger = (reading: ClassifiedInbound): reading is ClassifiedInbound & { as: "stranger" } =>
  reading.as === "stranger";
const isReady = (reading: ClassifiedInbound): reading is ClassifiedInbound & { as: "message" } =>
  reading.as === "message";
