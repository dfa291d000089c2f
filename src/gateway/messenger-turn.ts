import { escapeMarkdown } from "../commands/command.ts";
import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import type { Message } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import { firstMessageNote, resetNotice } from "../core/reset-notice.ts";
import { resolveResetPolicy } from "../core/reset-policy.ts";
import type { Turn } from "../core/turn.ts";
import { pause } from "../system/pause.ts";
import type { AgentAnswer } from "../turns/answer-recorder.ts";
import { findMessengerRequester } from "../turns/build-tools.ts";
import { type PrepareContext, prepareTurn } from "../turns/prepare-turn.ts";
import { proposeTitle } from "../turns/propose-title.ts";
import { createSpeakerFinder } from "../turns/speakers.ts";
import { buildTextDeliveries, formatAnswer, getSendOptions, getTextLimit } from "../turns/text-deliveries.ts";
import type { PreparedTurn, TurnHooks } from "../turns/turn-hooks.ts";
import type { QueueReservation } from "./delivery-queues.ts";
import { draft } from "./drafts.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import { reportSessionLeft, type SessionHookContext } from "./report-session-left.ts";
import { requestApprovalInChat } from "./request-approval-in-chat.ts";

/** Shown again before the platform lets it fade. */
const TYPING_EVERY_MS = 4000;
/** One for all: to make a reason, with the place where it was made, takes as long as reading from the store. */
const OVER = new Error("The turn is over.");

/** What a messenger has to do with a turn: the notice before it, drafts while it runs, deliveries with its end. */
export function buildMessengerTurnHooks(flow: Flow, turn: Turn): TurnHooks {
  const connected = flow.getConnection(turn.target.platform);
  // Somebody in a terminal waits for it, and reads it there. Its folder and its tools are not here.
  if (connected === undefined) return { prepare: () => prepareTurn(buildPrepareContext(flow), turn) };
  const { platform, outbox } = connected;
  const { target } = turn;
  const settings = flow.settings();
  const findSpeaker = createSpeakerFinder(target, settings);
  const over = new AbortController();
  let inputs: readonly Message[] = [];
  let held: QueueReservation | undefined;
  const replyTo = (): string | undefined =>
    target.chatType === "dm" ? undefined : inputs.at(-1)?.origin?.platformMessageId;
  const shown =
    settings.streaming && platform.edit !== undefined
      ? draft({
          ...flow,
          platform,
          turn,
          limit: getTextLimit(platform.traits),
          replyTo,
          isIdle: () => outbox.isIdle(target),
        })
      : undefined;
  const about = { turn: turn.number, session: turn.session, platform: target.platform, chat: target.chatId };

  return {
    onStoreDelayed: (error) => flow.log.error({ ...about, error }, "an answer waits to be stored"),
    prepare: () => prepareMessengerTurn(flow, connected, turn),
    ...(findSpeaker !== undefined && { findSpeaker }),
    ...(settings.compressAt !== undefined && {
      compression: { at: settings.compressAt, notify: (notice) => outbox.sendText(target, notice) },
    }),
    onStart(messages) {
      inputs = messages;
      flow.log.info({ ...about, attempt: turn.attempt }, "a turn begins");
      runInBackground(flow.log, "typing", keepTyping(connected, turn, over.signal));
      runInBackground(flow.log, "a hook", flow.hooks.emit("agent:start", about));
    },
    onEvent(event, text, saveDraft) {
      if (event.type === "text") shown?.update(text, saveDraft);
      else if (event.type === "tool_call")
        runInBackground(
          flow.log,
          "a hook",
          flow.hooks.emit("agent:step", { ...about, tool: event.call.name }),
        );
    },
    approve: (request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalOutcome> =>
      requestApprovalInChat(flow, connected, turn, request, signal),
    async buildDeliveries(answer: AgentAnswer): Promise<readonly NewDelivery[]> {
      over.abort(OVER);
      const draftShown = await shown?.end();
      const words = addBackgroundHeader(turn, inputs, formatAnswer(answer, draftShown !== undefined));
      held = outbox.reserve(target);
      const sending = { ...getSendOptions(platform), replyTo: replyTo(), draft: draftShown };
      return held.startFirst(buildTextDeliveries(target, words, sending));
    },
    onEnd(end) {
      over.abort(OVER);
      held?.commit(end?.deliveries ?? []);
      if (end === undefined) return;
      flow.log.info({ ...about, outcome: end.outcome, reason: end.reason }, "a turn has ended");
      runInBackground(flow.log, "a hook", flow.hooks.emit("agent:end", { ...about, outcome: end.outcome }));
      if (end.outcome !== "done") return;
      const { model } = turn.settings;
      const titles = { agent: flow.agent(turn.settings), sessions: flow.sessions, who: SYSTEM, model };
      runInBackground(flow.log, "a title", proposeTitle(titles, turn.session, flow.signal));
    },
  };
}

async function prepareMessengerTurn(
  flow: Flow,
  connected: PlatformConnection,
  turn: Turn,
): Promise<PreparedTurn> {
  const { store } = flow;
  if (turn.fresh?.noticeDue) await sendResetNotice(flow, connected, turn, turn.fresh);
  const isFirst = turn.inputs.includes(1);
  if (isFirst) {
    const about = { session: turn.session, platform: turn.target.platform, chat: turn.target.chatId };
    runInBackground(flow.log, "a hook", reportSessionStart(flow, turn, about));
  }
  const isNew = isFirst && !(await store.sessions.hasOther({ asker: SYSTEM, session: turn.session }));
  const asking = await findMessengerRequester(store, flow.settings().access, turn.target);
  const prepared = await prepareTurn(buildPrepareContext(flow), turn, asking);
  return { ...prepared, ...(isNew && { note: firstMessageNote() }) };
}

function buildPrepareContext({
  store,
  clock,
  platforms,
  toolHost,
  customTools,
  ...flow
}: Flow): PrepareContext {
  return {
    store,
    clock,
    platforms,
    settings: flow.settings(),
    ...(toolHost !== undefined && { toolHost }),
    ...(customTools !== undefined && { customTools }),
  };
}

/** First that the one before is left, if it has just been. */
async function reportSessionStart(
  flow: Flow,
  { fresh, conversation }: Turn,
  about: SessionHookContext,
): Promise<void> {
  if (fresh !== undefined) {
    const { reason, previous } = fresh;
    await reportSessionLeft(flow, conversation, { ...about, session: previous.session, reason });
  }
  await flow.hooks.emit("session:start", about);
}

async function sendResetNotice(
  flow: Flow,
  { outbox }: PlatformConnection,
  turn: Turn,
  fresh: NonNullable<Turn["fresh"]>,
): Promise<void> {
  const { platform, chatType } = turn.target;
  const { idleMinutes, atHour } = resolveResetPolicy(flow.settings().reset, platform, chatType);
  const notice = resetNotice({ reason: fresh.reason, idleMinutes, atHour, handle: fresh.previous.handle });
  await outbox.sendText(turn.target, notice, { session: turn.session, resetNoticeFor: turn.conversation });
}

async function keepTyping(
  { platform }: PlatformConnection,
  { target }: Turn,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && platform.sendTyping !== undefined) {
    await platform.sendTyping(target, signal).catch(() => {}); // a sign, nothing more
    await pause(TYPING_EVERY_MS, signal);
  }
}

/** What was asked in the background is answered among other things: it says what it answers. */
function addBackgroundHeader({ target }: Turn, inputs: readonly Message[], words: string): string {
  if (target.chatType !== "background" || words === "") return words;
  const [asked] = inputs
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "text" ? [part.text] : []));
  const short = [...(asked ?? "").replace(/\s+/g, " ").trim()].slice(0, 60).join("");
  return `**In the background:** ${escapeMarkdown(short)}\n\n${words}`;
}
