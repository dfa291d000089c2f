import { PostriderError } from "../core/errors.ts";
import { type Message, type NewMessage, textPart } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import { pluralize } from "../core/pluralize.ts";
import { isRefused } from "../core/refusal.ts";
import type { Session } from "../core/session.ts";
import type { Agent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { formatSummary, requestSummary } from "./request-summary.ts";
import { addSpeakerNames, type FindSpeaker } from "./speakers.ts";
import { estimateTokens, findTailStart } from "./summary-tail.ts";

export interface CompressOptions {
  readonly store: Store;
  readonly agent: Agent;
  readonly clock: Pick<Clock, "now">;
  readonly session: string;
  /** Whose session it is; the program itself unless said. */
  readonly asker?: Asker;
  /** The turn within which it happens: its holder may, and what it is to answer stays word for word. */
  readonly turn?: { readonly fence: number; readonly inputs: readonly number[] };
  /** The model that this chat chose. */
  readonly model?: string;
  /** Who said what, where several people share the session. */
  readonly speaker?: FindSpeaker | undefined;
  /** From which share of the model's window on. */
  readonly share: number;
  /** However little there is. */
  readonly force?: boolean;
  readonly signal: AbortSignal;
}

export type Compression =
  | {
      readonly outcome: "compressed";
      /** How many messages the session showed, and shows now. */
      readonly before: number;
      readonly after: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** For the person, once. */
      readonly notice: string;
    }
  | {
      readonly outcome: "unchanged";
      readonly why: "no_model" | "too_short" | "failed";
      readonly reason: string;
      /** For the person, when it cannot go on like this for long. */
      readonly notice?: string;
    };

const FEWEST_MESSAGES = 4;
/** From here on, the person is told when a conversation cannot be summed up. */
const NEARLY_FULL = 0.95;
/** The share of the window that stays word for word at most, besides what is to be answered. */
const TAIL_SHARE = 0.2;
/** Less than this share of what is shown is not worth a summary, which would be due again with the next message. */
const LEAST_GAIN = 0.1;
/** How much of the window a request for a summary fills, when the tokens were counted, and when they are estimated. */
const COUNTED_SHARE = 0.9;
const ESTIMATED_SHARE = 0.6;
/** No writing takes more tokens against the estimate. */
const MOST_WEIGHT = 6;
/** What came after the last counted prompt is among these. */
const RECENT = 32;

/**
 * Sums up the beginning of a session that has become too long for its model: what it shows is then the summary and the
 * last exchanges. What was said stays readable and searchable. `undefined` when there is no need. Whatever goes wrong
 * with the summary, the session shows what it showed, and whoever asked goes on.
 */
export async function compressIfNeeded(wanted: CompressOptions): Promise<Compression | undefined> {
  const { store, agent, session: id, force = false, asker = { everyone: true } } = wanted;
  const window = (wanted.model && agent.getContextWindow?.(wanted.model)) || agent.contextWindow;
  if (window === undefined)
    return force ? buildUnchanged("no_model", "Nobody here can sum up a conversation.") : undefined;
  const session = await store.sessions.getSession({ asker, session: id });
  if (session === undefined) {
    if (force) throw new PostriderError("not_found", "There is no such session.");
    return undefined;
  }
  const due = force ? 0 : wanted.share * window;
  if (!force && (await isSurelyShort(wanted, asker, session, due))) return undefined;
  const shown = (await store.messages.readHistory({ asker, session: id })) ?? [];
  const tokens = estimatePromptTokens(session, shown);
  if (shown.length < FEWEST_MESSAGES || tokens < due)
    return force ? buildUnchanged("too_short", "There is too little to sum up.") : undefined;
  return compress({ ...wanted, asker }, shown, { window, tokens });
}

/** What is known without reading the whole session. */
async function isSurelyShort(
  { store }: CompressOptions,
  asker: Asker,
  session: Session,
  due: number,
): Promise<boolean> {
  const shape = await store.messages.getViewRanges({ asker, session: session.id });
  const length = shape?.pieces.reduce((sum, { from, to }) => sum + to - from + 1, 0) ?? 0;
  if (length < FEWEST_MESSAGES) return true;
  if (session.usage.lastPromptTokens === 0 || session.usage.lastPromptTokens >= due) return false;
  const offset = Math.max(0, length - RECENT);
  const recent = (await store.messages.readHistory({ asker, session: session.id, offset })) ?? [];
  return estimatePromptTokens(session, recent) < due;
}

/** The prompt that comes next: as the last one was counted, with what was said since; else as it looks. */
function estimatePromptTokens({ usage }: Session, shown: readonly Message[]): number {
  if (usage.lastPromptTokens === 0) return estimateTokens(shown);
  return usage.lastPromptTokens + estimateTokens(shown.slice(findLastAnswer(shown)));
}

function findLastAnswer(shown: readonly Message[]): number {
  return Math.max(
    0,
    shown.findLastIndex(({ role }) => role === "assistant"),
  );
}

async function compress(
  wanted: CompressOptions & { readonly asker: Asker },
  shown: readonly Message[],
  { window, tokens }: { readonly window: number; readonly tokens: number },
): Promise<Compression> {
  const { store, agent, asker, session, turn, model, signal, force = false } = wanted;
  const estimate = Math.max(1, estimateTokens(shown));
  // How the model counts, against the estimate; never less, or a request for a summary might be too long itself; and
  // not much more, because what was counted may have been taken back since.
  const weight = Math.min(MOST_WEIGHT, Math.max(1, tokens / estimate));
  const isInput = (message: Message): boolean =>
    message.session === session && turn?.inputs.includes(message.seq) === true;
  const start = findTailStart(shown, {
    mostTokens: (window * TAIL_SHARE) / weight,
    ...(turn !== undefined && { isInput }),
  });
  const [head, tail] = [shown.slice(0, start), shown.slice(start)];
  const last = head.at(-1);
  const nearlyFull = tokens >= window * NEARLY_FULL;
  const isLittle = head.length < 2 || (!force && estimateTokens(head) < estimate * LEAST_GAIN);
  if (last === undefined || isLittle)
    return buildUnchanged(
      "too_short",
      "Only the last exchanges are there, and they stay as they are.",
      nearlyFull,
    );
  const isCounted = tokens !== estimate;
  const mostTokens = Math.floor((window * (isCounted ? COUNTED_SHARE : ESTIMATED_SHARE)) / weight);
  const summary = await requestSummary(
    {
      agent,
      session,
      messages: addSpeakerNames(head, wanted.speaker),
      mostTokens,
      ...(model !== undefined && { model }),
    },
    signal,
  );
  const fence = turn === undefined ? {} : { fence: turn.fence };
  // Without the fence: it was used, whoever holds the session by now.
  const recordAbandonedUsage = async ({ usage } = summary): Promise<void> => {
    if (usage === undefined) return;
    await store.sessions.recordUsage({ asker, session, purpose: "compress", usage, now: wanted.clock.now() });
  };
  if (summary.text === undefined) {
    await recordAbandonedUsage();
    return buildUnchanged("failed", summary.reason ?? "", nearlyFull && !signal.aborted);
  }
  const message = buildSummaryMessage(summary.text);
  const reshaped = await store.messages.changeView({
    asker,
    session,
    kind: "compress",
    summary: message,
    replaces: { count: head.length, last: { session: last.session, seq: last.seq } },
    usage: { ...summary.usage, lastPromptTokens: 0 },
    ...fence,
    now: wanted.clock.now(),
  });
  if (isRefused(reshaped)) {
    await recordAbandonedUsage();
    return buildUnchanged("failed", reshaped.reason);
  }
  const tokensAfter = Math.round(estimateTokens([message, ...tail]) * weight);
  const counts = { before: reshaped.before, after: reshaped.length, tokensBefore: tokens, tokensAfter };
  return {
    outcome: "compressed",
    ...counts,
    notice: formatCompressionNotice(counts, tokensAfter >= window * NEARLY_FULL),
  };
}

function buildSummaryMessage(summary: string): NewMessage {
  return { role: "note", parts: [textPart(formatSummary(summary))], extra: { summary: true } };
}

interface CompressionCounts {
  readonly before: number;
  readonly after: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** `a → b messages, ~x → ~y tokens` */
export function formatCompressionCounts({
  before,
  after,
  tokensBefore,
  tokensAfter,
}: CompressionCounts): string {
  const [a, x] = [before, tokensBefore].map((count) => count.toLocaleString("en-US"));
  return `${a} → ${pluralize(after, "message")}, ~${x} → ~${pluralize(tokensAfter, "token")}`;
}

function formatCompressionNotice(counts: CompressionCounts, stillFull: boolean): string {
  const still = stillFull ? " It is still nearly full: /new starts a new one." : "";
  return `This conversation had become long, so its beginning was summed up: ${formatCompressionCounts(counts)}. Everything said is kept; /search finds it.${still}`;
}

function buildUnchanged(
  why: "no_model" | "too_short" | "failed",
  reason: string,
  nearlyFull = false,
): Compression {
  const notice = `This conversation nearly fills what the model can read, and could not be summed up: ${reason} /new starts a new one.`;
  return { outcome: "unchanged", why, reason, ...(nearlyFull && { notice }) };
}
