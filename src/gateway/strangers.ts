import { strangersGet } from "../core/access.ts";
import { parseCommand } from "../core/command-grammar.ts";
import { textOf } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import type { Inbound } from "../ports/platform.ts";
import type { Connected, Flow, Stored } from "./flow.ts";
import { askToBeLetIn, strangerText, useLinkCode } from "./pairing.ts";

/**
 * Somebody who may not speak here. In a direct chat they get a code with which the owner can let them in, at most once in
 * a while; a code that the owner gave them lets them in at once. Elsewhere, and otherwise, silence: nothing of theirs is
 * kept.
 */
export async function meetStranger(flow: Flow, connected: Connected, inbound: Inbound): Promise<Stored> {
  const { store, clock, runner } = flow;
  const { source, messageId, cursor } = inbound;
  const rules = flow.settings().access;
  if (source.chatType !== "dm" || source.userId === undefined) return {};
  if (strangersGet(rules, source.platform) === "ignore") return {};
  const { profile } = flow.settings();
  const line = { profile, source, messageId, line: "", runner, now: clock.now(), ...(cursor && { cursor }) };
  const { duplicate, inbox } = await store.acceptLine(line);
  if (duplicate) return {};
  const answer = async (): Promise<void> =>
    connected.outbox.say(source, (await wordsFor(flow, inbound)) ?? "", { line: inbox });
  return { after: answer() };
}

async function wordsFor(flow: Flow, { source, message }: Inbound): Promise<string | undefined> {
  const { store, clock, log } = flow;
  const given = parseCommand(textOf(message));
  if ((given?.name === "pair" || given?.name === "start") && given.args !== "") {
    const used = await useLinkCode({ store, clock, source, code: given.args });
    if (!isRefused(used)) return "Welcome: this chat is yours now. Say hello, or /help for the commands.";
    if (used.refused === "locked_out") return undefined; // whoever guesses is not told more
  }
  const asked = await askToBeLetIn({ store, clock, source });
  if (asked.state === "asked")
    log.info({ platform: source.platform, user: source.userId }, "somebody asks to be let in");
  return strangerText(asked);
}
