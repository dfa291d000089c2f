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

/** Accounts that are remembered as muted or locked out. */
const MAX_REMEMBERED = 10_000;
/** Strangers that wait for their code. Creating one is slow on purpose, so they are created one at a time. */
const MAX_WAITING = 100;

/** Messages of people who have no access. */
export interface Strangers {
  /**
   * In a direct chat a stranger gets a code with which the owner can grant access, at most once per interval. A code that
   * the owner gave them grants access at once. Every other message is dropped without a row.
   */
  handleMessage(inbound: Inbound): Promise<IntakeResult>;
}

export function strangers(flow: Flow, connected: PlatformConnection, dropped: DroppedCursors): Strangers {
  const { store, clock, runner, log } = flow;
  const silent = new Map<string, number>();
  const lockedOut = new Map<string, number>();
  let lastReply: Promise<void> = Promise.resolve();
  let waiting = 0;

  function drop({ cursor }: Inbound): IntakeResult {
    dropped.record(cursor);
    return {};
  }

  /** The inbox row of a message that gets a reply; undefined for a duplicate. */
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

  async function createCodeReply({ source }: Inbound, name: string): Promise<string> {
    const asked = await requestPairingCode({ store, clock, source });
    if (asked.state === "asked")
      log.info({ platform: source.platform, user: source.userId }, "a stranger asks for access");
    rememberUntil(silent, name, asked.state === "asked" ? clock.now() + PAIRING_INTERVAL_MS : asked.until);
    return formatPairingCode(asked) ?? "";
  }

  /** Later messages of the chat wait for this: their sender may have access by then. */
  async function tryCode(inbound: Inbound, name: string, code: string, inbox: number): Promise<void> {
    const redeemed = await redeemLinkCode({ store, clock, source: inbound.source, code });
    let reply = "";
    if (!isRefused(redeemed))
      reply = "Welcome: this chat is yours now. Say hello, or /help for the commands.";
    // A person who guesses codes gets no answer.
    else if (redeemed.refused === "locked_out")
      rememberUntil(lockedOut, name, Number(redeemed.details?.until));
    else if (!isMuted(silent, name, clock.now())) reply = await createCodeReply(inbound, name);
    await connected.outbox.sendText(inbound.source, reply, { answeredCommand: inbox });
  }

  async function replyWithCode(inbound: Inbound, name: string, inbox: number): Promise<void> {
    try {
      if (flow.signal.aborted) return;
      await connected.outbox.sendText(inbound.source, await createCodeReply(inbound, name), {
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
      const command = parseCommand(getText(message));
      const code =
        command?.name === "pair" || command?.name === "start" ? parsePairingCode(command.args) : undefined;
      if (code !== undefined && !isMuted(lockedOut, name, clock.now())) {
        const inbox = await accept(inbound);
        return inbox === undefined ? {} : { after: tryCode(inbound, name, code, inbox) };
      }
      if (isMuted(silent, name, clock.now()) || waiting >= MAX_WAITING) return drop(inbound);
      const until = await findPairingWait({ store, clock, source });
      if (until !== undefined) {
        rememberUntil(silent, name, until);
        return drop(inbound);
      }
      const inbox = await accept(inbound);
      if (inbox === undefined) return {};
      rememberUntil(silent, name, clock.now() + PAIRING_INTERVAL_MS);
      waiting += 1;
      const replied = lastReply.then(() => replyWithCode(inbound, name, inbox));
      lastReply = replied.catch(() => {});
      runInBackground(log, "sending a code to a stranger", replied);
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
  if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
}
