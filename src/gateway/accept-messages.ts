import type { PostriderError } from "../core/errors.ts";
import { getText, type NewMessage } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Accept, Accepted } from "../core/turn.ts";
import type { Inbound } from "../ports/platform.ts";
import { buildRouting } from "../sessions/routing.ts";
import { claimNext } from "./claim-next.ts";
import { type Flow, type IntakeResult, type PlatformConnection, runInBackground } from "./flow.ts";

/** A message as it is stored. */
export interface ReadyMessage {
  readonly inbound: Inbound;
  readonly message: NewMessage;
}

/** Stores messages of one chat and starts or interrupts turns for them. */
export interface MessageAcceptor {
  /** Resolves with how many were stored: all of them, or only the first where one cannot be stored. */
  accept(messages: readonly [ReadyMessage, ...ReadyMessage[]], queued?: boolean): Promise<number>;
}

export function messageAcceptor(flow: Flow, connected: PlatformConnection): MessageAcceptor {
  const { store, clock } = flow;
  const claimWaiting = claimNext(flow);

  function buildInput({ inbound, message }: ReadyMessage): Accept {
    const { source, messageId, cursor, blobs } = inbound;
    const settings = flow.settings();
    return {
      ...buildRouting(source, { ...settings, clock }),
      messageId,
      message,
      maxPending: settings.maxPending,
      ...(flow.hasRoom() && { claim: { runner: flow.runner, take: "one" } }),
      ...(blobs !== undefined && { blobs }),
      ...(cursor !== undefined && { cursor }),
    };
  }

  /** A message that the store refuses must not block those before it. */
  async function storeFirst(inputs: readonly Accept[], first: Accept): Promise<readonly Accepted[]> {
    if (inputs.length === 1) return [await store.inbox.accept(first)];
    return store.inbox.acceptMany({ messages: inputs }).catch(async () => [await store.inbox.accept(first)]);
  }

  /** Waits for nothing: a turn that the commit has claimed must run, whatever happens to the others. */
  function startOrInterrupt({ inbound, message }: ReadyMessage, accepted: Accepted, queued: boolean): void {
    if (accepted.duplicate) return;
    if (accepted.tooMany !== undefined) {
      if (accepted.isFirst)
        runInBackground(
          flow.log,
          "a notice",
          sendQueueFullNotice(connected, inbound.source, accepted.tooMany),
        );
      return;
    }
    const { turn, running, session, conversation } = accepted;
    if (turn !== undefined) runInBackground(flow.log, "a turn", flow.turns.run(turn));
    const isHere = running !== undefined && flow.turns.isRunning(session.id);
    if (turn === undefined && !isHere)
      runInBackground(flow.log, "a turn", claimWaiting(session.id, conversation));
    const mode = conversation.settings.busy ?? flow.settings().busy;
    // A picture without text adds to the question, and interrupts nothing.
    if (running === undefined || mode !== "interrupt" || queued || getText(message).trim() === "") return;
    if (isHere) runInBackground(flow.log, "an interruption", flow.turns.stop({ turn: running }));
    else if (flow.isShared) {
      const request = { conversation: conversation.number, now: clock.now() };
      runInBackground(flow.log, "an interruption", store.turns.requestStop(request));
    }
  }

  return {
    async accept(messages, queued = false) {
      const inputs = messages.map(buildInput);
      const all = await storeFirst(inputs, inputs[0] ?? buildInput(messages[0]));
      for (const [at, accepted] of all.entries()) {
        const message = messages[at];
        if (message !== undefined) startOrInterrupt(message, accepted, queued);
      }
      return all.length;
    },
  };
}

export function sendQueueFullNotice(
  { outbox }: PlatformConnection,
  source: Source,
  pending: number,
): Promise<void> {
  const notice = `${pending} messages are already pending here, so this one was dropped, and so are further ones until some are answered. /status counts them, /stop all drops them.`;
  return outbox.sendText(source, notice);
}

/** Replies to a message that cannot be stored with the reason. Without a row, the platform would redeliver it for ever. */
export async function refuseMessage(
  { store, clock, runner, settings }: Flow,
  connected: PlatformConnection,
  { source, messageId, cursor }: Inbound,
  reason: PostriderError,
): Promise<IntakeResult> {
  const { profile } = settings();
  const line = { profile, source, messageId, line: "", runner, now: clock.now(), ...(cursor && { cursor }) };
  const { duplicate, inbox } = await store.inbox.acceptCommand(line);
  return duplicate
    ? {}
    : { after: connected.outbox.sendText(source, reason.message, { answeredCommand: inbox }) };
}
