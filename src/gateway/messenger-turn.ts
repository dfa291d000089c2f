import { escaped } from "../commands/command.ts";
import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { firstMessageNote, resetNotice } from "../core/fresh-words.ts";
import type { Message } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import { policyFor } from "../core/reset-policy.ts";
import type { Turn } from "../core/turn.ts";
import { pause } from "../system/pause.ts";
import type { Answer } from "../turns/answer.ts";
import type { Around } from "../turns/answering.ts";
import { askedInMessenger } from "../turns/equip.ts";
import { answerText, sendingOn, textDeliveries, textLimit } from "../turns/outgoing.ts";
import { prepareTurn, type TurnContext } from "../turns/prepare-turn.ts";
import { proposeTitle } from "../turns/propose-title.ts";
import type { Prepared } from "../turns/run-turn.ts";
import { findSpeakersIn } from "../turns/speakers.ts";
import { askPerson } from "./ask-person.ts";
import type { Hold } from "./deliver.ts";
import { draft } from "./drafts.ts";
import { type Connected, type Flow, inBackground } from "./flow.ts";
import { type About, tellLeftByMessage } from "./tell-left.ts";

/** Shown again before the platform lets it fade. */
const TYPING_EVERY_MS = 4000;
/** One for all: to make a reason, with the place where it was made, takes as long as reading from the store. */
const OVER = new Error("The turn is over.");

/** What a messenger has to do with a turn: the notice before it, drafts while it runs, deliveries with its end. */
export function messengerTurn(flow: Flow, turn: Turn): Around {
  const connected = flow.connected(turn.target.platform);
  // Somebody in a terminal waits for it, and reads it there. Its folder and its tools are not here.
  if (connected === undefined) return { prepare: () => prepareTurn(contextOf(flow), turn) };
  const { platform, outbox } = connected;
  const { target } = turn;
  const settings = flow.settings();
  const speaker = findSpeakersIn(target, settings);
  const over = new AbortController();
  let inputs: readonly Message[] = [];
  let held: Hold | undefined;
  const replyTo = (): string | undefined =>
    target.chatType === "dm" ? undefined : inputs.at(-1)?.origin?.platformMessageId;
  const shown =
    settings.streaming && platform.edit !== undefined
      ? draft({
          ...flow,
          platform,
          turn,
          limit: textLimit(platform.traits),
          replyTo,
          isFree: () => outbox.isFree(target),
        })
      : undefined;
  const about = { turn: turn.number, session: turn.session, platform: target.platform, chat: target.chatId };

  return {
    longestMs: settings.turnMinutes * 60_000,
    storeLater: (error) => flow.log.error({ ...about, error }, "an answer waits to be stored"),
    prepare: () => prepare(flow, connected, turn),
    ...(speaker !== undefined && { speaker }),
    ...(settings.compressAt !== undefined && {
      compression: { at: settings.compressAt, tell: (notice) => outbox.say(target, notice) },
    }),
    begun(begun) {
      inputs = begun;
      flow.log.info({ ...about, attempt: turn.attempt }, "a turn begins");
      inBackground(flow.log, "typing", keepTyping(connected, turn, over.signal));
      inBackground(flow.log, "a hook", flow.hooks.emit("agent:start", about));
    },
    event(event, said, keep) {
      if (event.type === "text") shown?.grow(said, keep);
      else if (event.type === "tool_call")
        inBackground(flow.log, "a hook", flow.hooks.emit("agent:step", { ...about, tool: event.call.name }));
    },
    approve: (request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalOutcome> =>
      askPerson(flow, connected, turn, request, signal),
    async deliveries(answer: Answer): Promise<readonly NewDelivery[]> {
      over.abort(OVER);
      const draftShown = await shown?.end();
      const words = withHeader(turn, inputs, answerText(answer, draftShown !== undefined));
      held = outbox.hold(target);
      const sending = { ...sendingOn(platform), replyTo: replyTo(), draft: draftShown };
      return held.begin(textDeliveries(target, words, sending));
    },
    ended(end) {
      over.abort(OVER);
      held?.take(end?.deliveries ?? []);
      if (end === undefined) return;
      flow.log.info({ ...about, outcome: end.outcome, reason: end.reason }, "a turn has ended");
      inBackground(flow.log, "a hook", flow.hooks.emit("agent:end", { ...about, outcome: end.outcome }));
      if (end.outcome !== "done") return;
      const { model } = turn.settings;
      const titles = { agent: flow.agent(turn.settings), sessions: flow.sessions, who: SYSTEM, model };
      inBackground(flow.log, "a title", proposeTitle(titles, turn.session, flow.signal));
    },
  };
}

async function prepare(flow: Flow, connected: Connected, turn: Turn): Promise<Prepared> {
  const { store } = flow;
  if (turn.fresh?.noticeDue) await tellFreshStart(flow, connected, turn, turn.fresh);
  const isFirst = turn.inputs.includes(1);
  if (isFirst) {
    const about = { session: turn.session, platform: turn.target.platform, chat: turn.target.chatId };
    inBackground(flow.log, "a hook", tellBegun(flow, turn, about));
  }
  const isNew = isFirst && !(await store.hasOther({ asker: SYSTEM, session: turn.session }));
  const asking = await askedInMessenger(store, flow.settings().access, turn.target);
  const prepared = await prepareTurn(contextOf(flow), turn, asking);
  return { ...prepared, ...(isNew && { note: firstMessageNote() }) };
}

function contextOf({ store, clock, platforms, equipment, ...flow }: Flow): TurnContext {
  return {
    store,
    clock,
    platforms,
    settings: flow.settings(),
    ...(equipment !== undefined && { equipment }),
  };
}

/** First that the one before is left, if it has just been. */
async function tellBegun(flow: Flow, { fresh, conversation }: Turn, about: About): Promise<void> {
  if (fresh !== undefined) {
    const { reason, previous } = fresh;
    await tellLeftByMessage(flow, conversation, { ...about, session: previous.session, reason });
  }
  await flow.hooks.emit("session:start", about);
}

async function tellFreshStart(
  flow: Flow,
  { outbox }: Connected,
  turn: Turn,
  fresh: NonNullable<Turn["fresh"]>,
): Promise<void> {
  const { platform, chatType } = turn.target;
  const { idleMinutes, atHour } = policyFor(flow.settings().reset, platform, chatType);
  const notice = resetNotice({ reason: fresh.reason, idleMinutes, atHour, handle: fresh.previous.handle });
  await outbox.say(turn.target, notice, { session: turn.session, noticed: turn.conversation });
}

async function keepTyping({ platform }: Connected, { target }: Turn, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && platform.typing !== undefined) {
    await platform.typing(target, signal).catch(() => {}); // a sign, nothing more
    await pause(TYPING_EVERY_MS, signal);
  }
}

/** What was asked in the background is answered among other things: it says what it answers. */
function withHeader({ target }: Turn, inputs: readonly Message[], words: string): string {
  if (target.chatType !== "background" || words === "") return words;
  const [asked] = inputs
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "text" ? [part.text] : []));
  const short = [...(asked ?? "").replace(/\s+/g, " ").trim()].slice(0, 60).join("");
  return `**In the background:** ${escaped(short)}\n\n${words}`;
}
