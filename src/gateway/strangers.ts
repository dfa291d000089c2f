import {
  askedUntil,
  askerAccount,
  askToBeLetIn,
  EVERY_MS,
  readCode,
  strangerText,
  useLinkCode,
} from "../commands/pairing.ts";
import { strangersGet } from "../core/access.ts";
import { parseCommand } from "../core/command-grammar.ts";
import { textOf } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import type { Inbound } from "../ports/platform.ts";
import type { DroppedCursors } from "./dropped-cursors.ts";
import { type Connected, type Flow, inBackground, type Stored } from "./flow.ts";

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
  meet(inbound: Inbound): Promise<Stored>;
}

export function strangers(flow: Flow, connected: Connected, dropped: DroppedCursors): Strangers {
  const { store, clock, runner, log } = flow;
  const silent = new Map<string, number>();
  const lockedOut = new Map<string, number>();
  let asking: Promise<void> = Promise.resolve();
  let waiting = 0;

  function drop({ cursor }: Inbound): Stored {
    dropped.note(cursor);
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
    const { duplicate, inbox } = await store.acceptLine(line);
    return duplicate ? undefined : inbox;
  }

  async function giveCode({ source }: Inbound, name: string): Promise<string> {
    const asked = await askToBeLetIn({ store, clock, source });
    if (asked.state === "asked")
      log.info({ platform: source.platform, user: source.userId }, "somebody asks to be let in");
    remember(silent, name, asked.state === "asked" ? clock.now() + EVERY_MS : asked.until);
    return strangerText(asked) ?? "";
  }

  /** What follows in the chat waits for it: it may be the first message of somebody who may speak by then. */
  async function tryCode(inbound: Inbound, name: string, code: string, inbox: number): Promise<void> {
    const used = await useLinkCode({ store, clock, source: inbound.source, code });
    let words = "";
    if (!isRefused(used)) words = "Welcome: this chat is yours now. Say hello, or /help for the commands.";
    // A person who guesses codes gets no answer.
    else if (used.refused === "locked_out") remember(lockedOut, name, Number(used.details?.until));
    else if (!isSilent(silent, name, clock.now())) words = await giveCode(inbound, name);
    await connected.outbox.say(inbound.source, words, { line: inbox });
  }

  async function ask(inbound: Inbound, name: string, inbox: number): Promise<void> {
    try {
      if (flow.signal.aborted) return;
      await connected.outbox.say(inbound.source, await giveCode(inbound, name), { line: inbox });
    } catch (error) {
      silent.delete(name);
      throw error;
    } finally {
      waiting -= 1;
    }
  }

  return {
    async meet(inbound) {
      const { source, message } = inbound;
      if (source.chatType !== "dm" || source.userId === undefined) return drop(inbound);
      if (strangersGet(flow.settings().access, source.platform) === "ignore") return drop(inbound);
      const { userId, altId } = askerAccount(source);
      const name = `${userId ?? ""}\n${altId ?? ""}`;
      const given = parseCommand(textOf(message));
      const code = given?.name === "pair" || given?.name === "start" ? readCode(given.args) : undefined;
      if (code !== undefined && !isSilent(lockedOut, name, clock.now())) {
        const inbox = await accept(inbound);
        return inbox === undefined ? {} : { after: tryCode(inbound, name, code, inbox) };
      }
      if (isSilent(silent, name, clock.now()) || waiting >= MOST_ASKING) return drop(inbound);
      const until = await askedUntil({ store, clock, source });
      if (until !== undefined) {
        remember(silent, name, until);
        return drop(inbound);
      }
      const inbox = await accept(inbound);
      if (inbox === undefined) return {};
      remember(silent, name, clock.now() + EVERY_MS);
      waiting += 1;
      const asked = asking.then(() => ask(inbound, name, inbox));
      asking = asked.catch(() => {});
      inBackground(log, "a stranger's code", asked);
      return {};
    },
  };
}

function isSilent(until: ReadonlyMap<string, number>, name: string, now: number): boolean {
  return (until.get(name) ?? 0) > now;
}

function remember(known: Map<string, number>, name: string, until: number): void {
  known.delete(name);
  known.set(name, until);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
}
