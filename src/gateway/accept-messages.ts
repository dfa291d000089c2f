import type { PostriderError } from "../core/errors.ts";
import { getText, type NewMessage } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Accept, Accepted } from "../core/turn.ts";
import type { Inbound } from "../ports/platform.ts";
import { buildRouting } from "../sessions/routing.ts";
import { claimNext } from "./claim-next.ts";
import { type Flow, type IntakeResult, type PlatformConnection, runInBackground } from "./flow.ts";

/** A message in the form in which it is stored. */
export interface ReadyMessage {
  readonly inbound: Inbound;
  readonly message: NewMessage;
}

/** Stores messages of one chat and starts or interrupts turns for them. */
export interface MessageAcceptor {
  /** Resolves with how many are stored, from the first on: all of them, or the first alone where one cannot be stored. */
  accept(messages: readonly [ReadyMessage, ...ReadyMessage[]], patiently?: boolean): Promise<number>;
}

export function messageAcceptor(flow: Flow, connected: PlatformConnection): MessageAcceptor {
  const { store, clock } = flow;
  const takeWaiting = claimNext(flow);

  function inputFor({ inbound, message }: ReadyMessage): Accept {
    const { source, messageId, cursor, blobs } = inbound;
    const settings = flow.settings();
    return {
      ...buildRouting(source, { ...settings, clock }),
      messageId,
      message,
      maxPending: settings.maxPending,
      claim: { runner: flow.runner, take: "one" },
      ...(blobs !== undefined && { blobs }),
      ...(cursor !== undefined && { cursor }),
    };
  }

  /** A message that the store cannot take must not keep those before it from being stored. */
  async function storeFirst(inputs: readonly Accept[], first: Accept): Promise<readonly Accepted[]> {
    if (inputs.length === 1) return [await store.inbox.accept(first)];
    return store.inbox.acceptMany({ messages: inputs }).catch(async () => [await store.inbox.accept(first)]);
  }

  /** Waits for nothing: a turn that the commit has begun must run, whatever becomes of the others. */
  function goOn({ inbound, message }: ReadyMessage, accepted: Accepted, patiently: boolean): void {
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
    else if (running === undefined || !flow.turns.isRunning(session.id))
      runInBackground(flow.log, "a turn", takeWaiting(session.id, conversation));
    else {
      const mode = conversation.settings.busy ?? flow.settings().busy;
      // A picture alone adds to what was asked, and interrupts nothing.
      if (mode === "interrupt" && !patiently && getText(message).trim() !== "")
        runInBackground(flow.log, "an interruption", flow.turns.stop({ turn: running }));
    }
  }

  return {
    async accept(messages, patiently = false) {
      const inputs = messages.map(inputFor);
      const all = await storeFirst(inputs, inputs[0] ?? inputFor(messages[0]));
      for (const [at, accepted] of all.entries()) {
        const message = messages[at];
        if (message !== undefined) goOn(message, accepted, patiently);
      }
      return all.length;
    },
  };
}

export function sendQueueFullNotice(
  { outbox }: PlatformConnection,
  source: Source,
  waiting: number,
): Promise<void> {
  const words = `${waiting} messages wait here already, so this one was not taken, and none will be until some are answered. /status shows them, /stop all drops them.`;
  return outbox.sendText(source, words);
}

/** Answers a message that cannot be stored with the reason: left unanswered, the platform would bring it for ever. */
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
