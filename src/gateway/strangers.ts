import {
  findPairingWait,
  formatPairingCode,
  getAskerAccount,
  PAIRING_INTERVAL_MS,
  parsePairingCode,
  redeemLinkCode,
  requestPairingCode,
} from "../commands/pairing.ts";
import { getStrangerPolicy } from "../core/access.ts";
import { parseCommand } from "../core/command-grammar.ts";
import { getText } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import type { Inbound } from "../ports/platform.ts";
import type { DroppedCursors } from "./dropped-cursors.ts";
import { type Flow, type IntakeResult, type PlatformConnection, runInBackground } from "./flow.ts";

/** Accounts of which it is known until when they get no answer. */
const MOST_KNOWN = 10_000;
/** Strangers that wait for their code. To make one is slow by intent, so one is made at a time. */
const MOST_ASKING = 100;

/** People who may not speak here. */
export interface Strangers {
  /**
   * In a direct chat a stranger gets a code with which the owner can let them in, at most once in a while; a code that the
   * owner gave them lets them in at once. Every other message is dropped without a row.
   */
  handleMessage(inbound: Inbound): Promise<IntakeResult>;
}

export function strangers(flow: Flow, connected: PlatformConnection, dropped: DroppedCursors): Strangers {
  const { store, clock, runner, log } = flow;
  const silent = new Map<string, number>();
  const lockedOut = new Map<string, number>();
  let asking: Promise<void> = Promise.resolve();
  let waiting = 0;

  function drop({ cursor }: Inbound): IntakeResult {
    dropped.record(cursor);
    return {};
  }

  /** The row of a message that is answered; undefined for one that was here before. */
  async function accept({ source, messageId, cursor }: Inbound): Promise<number | undefined> {
    const { profile } = flow.settings();
    const line = {
      profile,
      source,
      messageId,
      line: "",
      runner,
      now: clock.now(),
      ...(cursor && { cursor }),
    };
    const { duplicate, inbox } = await store.inbox.acceptCommand(line);
    return duplicate ? undefined : inbox;
  }

  async function giveCode({ source }: Inbound, name: string): Promise<string> {
    const asked = await requestPairingCode({ store, clock, source });
    if (asked.state === "asked")
      log.info({ platform: source.platform, user: source.userId }, "somebody asks to be let in");
    rememberUntil(silent, name, asked.state === "asked" ? clock.now() + PAIRING_INTERVAL_MS : asked.until);
    return formatPairingCode(asked) ?? "";
  }

  /** What follows in the chat waits for it: it may be the first message of somebody who may speak by then. */
  async function tryCode(inbound: Inbound, name: string, code: string, inbox: number): Promise<void> {
    const used = await redeemLinkCode({ store, clock, source: inbound.source, code });
    let words = "";
    if (!isRefused(used)) words = "Welcome: this chat is yours now. Say hello, or /help for the commands.";
    // A person who guesses codes gets no answer.
    else if (used.refused === "locked_out") rememberUntil(lockedOut, name, Number(used.details?.until));
    else if (!isMuted(silent, name, clock.now())) words = await giveCode(inbound, name);
    await connected.outbox.sendText(inbound.source, words, { answeredCommand: inbox });
  }

  async function ask(inbound: Inbound, name: string, inbox: number): Promise<void> {
    try {
      if (flow.signal.aborted) return;
      await connected.outbox.sendText(inbound.source, await giveCode(inbound, name), {
        answeredCommand: inbox,
      });
    } catch (error) {
      silent.delete(name);
      throw error;
    } finally {
      waiting -= 1;
    }
  }

  return {
    async handleMessage(inbound) {
      const { source, message } = inbound;
      if (source.chatType !== "dm" || source.userId === undefined) return drop(inbound);
      if (getStrangerPolicy(flow.settings().access, source.platform) === "ignore") return drop(inbound);
      const { userId, altId } = getAskerAccount(source);
      const name = `${userId ?? ""}\n${altId ?? ""}`;
      const given = parseCommand(getText(message));
      const code =
        given?.name === "pair" || given?.name === "start" ? parsePairingCode(given.args) : undefined;
      if (code !== undefined && !isMuted(lockedOut, name, clock.now())) {
        const inbox = await accept(inbound);
        return inbox === undefined ? {} : { after: tryCode(inbound, name, code, inbox) };
      }
      if (isMuted(silent, name, clock.now()) || waiting >= MOST_ASKING) return drop(inbound);
      const until = await findPairingWait({ store, clock, source });
      if (until !== undefined) {
        rememberUntil(silent, name, until);
        return drop(inbound);
      }
      const inbox = await accept(inbound);
      if (inbox === undefined) return {};
      rememberUntil(silent, name, clock.now() + PAIRING_INTERVAL_MS);
      waiting += 1;
      const asked = asking.then(() => ask(inbound, name, inbox));
      asking = asked.catch(() => {});
      runInBackground(log, "a stranger's code", asked);
      return {};
    },
  };
}

function isMuted(until: ReadonlyMap<string, number>, name: string, now: number): boolean {
  return (until.get(name) ?? 0) > now;
}

function rememberUntil(known: Map<string, number>, name: string, until: number): void {
  known.delete(name);
  known.set(name, until);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
}
