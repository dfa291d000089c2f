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

/** An edit of a message that never arrived counts as the message up to this age. */
const MAX_EDIT_AGE_MS = 2 * 60_000;
/** The queue of one chat, before its messages are stored. */
const MAX_QUEUED = 1000;
/** Messages of one chat in one commit. A message of another chat waits for at most so many. */
const MAX_BATCH_SIZE = 32;

type EditedInbound = Inbound & { readonly sentAt: number };

type QueuedInbound =
  | { readonly kind: "message"; readonly inbound: Inbound }
  | { readonly kind: "edited"; readonly inbound: EditedInbound }
  /** Accepted on its own: a pressed button, a deletion. */
  | {
      readonly kind: "single";
      readonly inbound: Pick<Inbound, "source">;
      readonly take: () => Promise<IntakeResult>;
    };

/**
 * Receives from a platform. Every message is stored once, before it is acknowledged. Commands are recognised before
 * messages are queued, so that they work while a turn runs.
 */
export function receiver(flow: Flow, connected: PlatformConnection, isUp: () => void): Receiver {
  const { store, clock } = flow;
  const acceptor = messageAcceptor(flow, connected);
  const dropped = droppedCursors(flow);
  const unknown = strangers(flow, connected, dropped);

  /** In the order of arrival within a chat: a message after `/new` belongs to the new session. */
  const queues = chatQueues<QueuedInbound>({
    maxQueued: MAX_QUEUED,
    batchSize: MAX_BATCH_SIZE,
    take,
    onOverflow: handleOverflow,
    onError: (error) =>
      flow.log.error({ error }, "receiving a message failed; the platform delivers it again"),
  });
  /** Chats that have got the notice that their queue is full. */
  const notifiedFull = new Set<string>();

  function queue(arrival: QueuedInbound): Promise<void> {
    return queues.add(getQueueName(arrival.inbound.source), arrival);
  }

  async function handleOverflow({ inbound: { source } }: QueuedInbound): Promise<void> {
    const name = getQueueName(source);
    if (notifiedFull.has(name)) return;
    notifiedFull.add(name);
    if ((await findRole(source)) !== undefined) await sendQueueFullNotice(connected, source, MAX_QUEUED);
  }

  async function take(arrivals: readonly [QueuedInbound, ...QueuedInbound[]]): Promise<QueueStep> {
    const [first] = arrivals;
    if (arrivals.length < MAX_BATCH_SIZE) notifiedFull.delete(getQueueName(first.inbound.source));
    if (first.kind === "single") return { taken: 1, ...(await first.take()) };
    if (first.kind === "edited")
      return takeEdits(takeLeading(arrivals, isEdit).map(({ inbound }) => inbound));
    return takeMessages(takeLeading(arrivals, isMessage).map(({ inbound }) => inbound));
  }

  async function findRole(source: Source): Promise<AccessRole | undefined> {
    const known = await store.access.getAccount(getSenderAccount(source));
    return resolveRole(flow.settings().access, source, known);
  }

  /** Each sender's role is read once, however many messages they sent. */
  async function classifyAll(inbounds: readonly Inbound[]): Promise<readonly ClassifiedInbound[]> {
    const roles = new Map<string, Promise<AccessRole | undefined>>();
    for (const { source } of inbounds)
      if (!roles.has(getSenderName(source))) roles.set(getSenderName(source), findRole(source));
    return Promise.all(
      inbounds.map(async (inbound) =>
        classifyInbound(inbound, await roles.get(getSenderName(inbound.source)), flow.customCommands),
      ),
    );
  }

  /** Consecutive messages are stored together; a command waits until those before it are stored. */
  async function takeMessages(inbounds: readonly Inbound[]): Promise<QueueStep> {
    const classifications = await classifyAll(inbounds);
    const [first] = classifications;
    const [inbound] = inbounds;
    if (first === undefined || inbound === undefined) return { taken: inbounds.length };
    switch (first.as) {
      case "command": {
        const replyTo = inbound.source.chatType === "dm" ? {} : { replyTo: inbound.messageId };
        return { taken: 1, ...(await acceptLine({ ...inbound, ...replyTo }, first.words, first.role)) };
      }
      case "unreadable":
        return { taken: 1, ...(await refuseMessage(flow, connected, inbound, first.reason)) };
      case "stranger":
        return takeStrangers(inbounds.slice(0, takeLeading(classifications, isStranger).length));
      default: {
        const ready = takeLeading(classifications, isReady);
        // A message with files is stored alone, so that one commit does not copy many files.
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
    const classifications = await classifyAll(last);
    const stored = await Promise.all(last.map((inbound, at) => takeEdit(inbound, classifications[at])));
    for (const [at, inbound] of last.entries()) {
      // The original may still arrive; it will be a duplicate then.
      const isYoung = clock.now() - inbound.sentAt < MAX_EDIT_AGE_MS;
      if (stored[at] === "unknown" && isYoung) stored[at] = await takeMessages([inbound]);
    }
    const after = stored.flatMap((one) => (typeof one === "object" ? (one.after ?? []) : []));
    return { taken: inbounds.length, after: Promise.all(after).then(() => {}) };
  }

  async function takeEdit(
    inbound: EditedInbound,
    classified: ClassifiedInbound | undefined,
  ): Promise<IntakeResult | "unknown"> {
    if (classified === undefined || classified.as === "stranger") {
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

  async function acceptLine(
    from: Pick<InboxCommand, "source" | "messageId" | "replyTo"> & { readonly cursor?: PlatformCursor },
    line: string,
    role: AccessRole,
  ): Promise<IntakeResult> {
    const { source, messageId, replyTo, cursor } = from;
    const command = parseCommand(line);
    if (command === undefined) return {};
    const { duplicate, inbox } = await store.inbox.acceptCommand({
      profile: flow.settings().profile,
      source,
      messageId,
      line,
      runner: flow.runner,
      now: clock.now(),
      ...(cursor !== undefined && { cursor }),
    });
    if (duplicate) return {};
    const stored = { ...command, inbox, source, role, messageId, ...(replyTo !== undefined && { replyTo }) };
    const submit = (text: string, queued: boolean) => submitText(source, messageId, text, queued);
    const done = runInboxCommand(flow, connected, stored, submit);
    if (!findChatCommand(command.name, flow.customCommands)?.isSlow) return { after: done };
    runInBackground(flow.log, `/${command.name}`, done);
    return {};
  }

  /** Accepts a text as if the person had typed it. */
  async function submitText(source: Source, messageId: string, text: string, queued: boolean): Promise<void> {
    const inbound = {
      source,
      messageId: `${messageId}:said`,
      message: { role: "user", parts: [textPart(text)], origin: { platformMessageId: messageId } },
    } as const;
    const message = parseInboundMessage(inbound);
    if (message instanceof PostriderError) await refuseMessage(flow, connected, inbound, message);
    else await acceptor.accept([{ inbound, message }], queued);
  }

  return {
    canSpeak: async (source) => (await findRole(source)) !== undefined,
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
        const role = await findRole(press.source);
        if (role !== undefined) return acceptLine(press, press.line, role);
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
const isStranger = (classified: ClassifiedInbound): classified is ClassifiedInbound & { as: "stranger" } =>
  classified.as === "stranger";
const isReady = (classified: ClassifiedInbound): classified is ClassifiedInbound & { as: "message" } =>
  classified.as === "message";
