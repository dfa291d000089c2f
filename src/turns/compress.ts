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
  /** Who asks; Postrider itself by default. */
  readonly asker?: Asker;
  /** The turn that asks: its fence permits the change, and its inputs are not summarised. */
  readonly turn?: { readonly fence: number; readonly inputs: readonly number[] };
  /** The model that the chat chose. */
  readonly model?: string;
  /** Names senders, where several people share the session. */
  readonly speaker?: FindSpeaker | undefined;
  /** The share of the model's window from which on a session is compressed. */
  readonly share: number;
  /** Compresses also a short session. */
  readonly force?: boolean;
  readonly signal: AbortSignal;
}

export type Compression =
  | {
      readonly outcome: "compressed";
      /** The number of visible messages, before and after. */
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
      /** For the person, when the window is nearly full. */
      readonly notice?: string;
    };

const MIN_MESSAGES = 4;
/** From this share on, the person gets a notice when compression fails. */
const NEARLY_FULL = 0.95;
/** The share of the window that the unchanged tail may fill, besides the inputs of the turn. */
const TAIL_SHARE = 0.2;
/** A smaller share is not worth a summary: the next message would need another one. */
const MIN_GAIN = 0.1;
/** The share of the window that a request for a summary fills, with counted and with estimated tokens. */
const COUNTED_SHARE = 0.9;
const ESTIMATED_SHARE = 0.6;
/** No script needs more tokens per estimated token. */
const MAX_WEIGHT = 6;
/** The messages after the last counted prompt are among these. */
const RECENT_MESSAGES = 32;

/**
 * Replaces the beginning of a session that is too long for its model by a summary. The replaced messages stay readable and
 * searchable. `undefined`: not needed. If the summary fails, the session stays unchanged and the caller continues.
 */
export async function compressIfNeeded(options: CompressOptions): Promise<Compression | undefined> {
  const { store, agent, session: id, force = false, asker = { everyone: true } } = options;
  const window = (options.model && agent.getContextWindow?.(options.model)) || agent.contextWindow;
  if (window === undefined)
    return force ? buildUnchanged("no_model", "This agent cannot sum up a conversation.") : undefined;
  const session = await store.sessions.getSession({ asker, session: id });
  if (session === undefined) {
    if (force) throw new PostriderError("not_found", "There is no such session.");
    return undefined;
  }
  const due = force ? 0 : options.share * window;
  if (!force && (await isSurelyShort(options, asker, session, due))) return undefined;
  const history = (await store.messages.readHistory({ asker, session: id })) ?? [];
  const tokens = estimatePromptTokens(session, history);
  if (history.length < MIN_MESSAGES || tokens < due)
    return force ? buildUnchanged("too_short", "There is too little to sum up.") : undefined;
  return compress({ ...options, asker }, history, { window, tokens });
}

/** Decides without reading the whole session. */
async function isSurelyShort(
  { store }: CompressOptions,
  asker: Asker,
  session: Session,
  due: number,
): Promise<boolean> {
  const ranges = await store.messages.getViewRanges({ asker, session: session.id });
  const length = ranges?.pieces.reduce((sum, { from, to }) => sum + to - from + 1, 0) ?? 0;
  if (length < MIN_MESSAGES) return true;
  if (session.usage.lastPromptTokens === 0 || session.usage.lastPromptTokens >= due) return false;
  const offset = Math.max(0, length - RECENT_MESSAGES);
  const recent = (await store.messages.readHistory({ asker, session: session.id, offset })) ?? [];
  return estimatePromptTokens(session, recent) < due;
}

/** The size of the next prompt: the last counted one plus an estimate of the messages since, or an estimate of all. */
function estimatePromptTokens({ usage }: Session, history: readonly Message[]): number {
  if (usage.lastPromptTokens === 0) return estimateTokens(history);
  return usage.lastPromptTokens + estimateTokens(history.slice(findLastAnswer(history)));
}

function findLastAnswer(history: readonly Message[]): number {
  return Math.max(
    0,
    history.findLastIndex(({ role }) => role === "assistant"),
  );
}

async function compress(
  options: CompressOptions & { readonly asker: Asker },
  history: readonly Message[],
  { window, tokens }: { readonly window: number; readonly tokens: number },
): Promise<Compression> {
  const { store, agent, asker, session, turn, model, signal, force = false } = options;
  const estimate = Math.max(1, estimateTokens(history));
  // Counted tokens per estimated token. Never less than 1, or the request for a summary might be too long itself; and
  // limited, because counted messages may have been removed since.
  const weight = Math.min(MAX_WEIGHT, Math.max(1, tokens / estimate));
  const isInput = (message: Message): boolean =>
    message.session === session && turn?.inputs.includes(message.seq) === true;
  const start = findTailStart(history, {
    maxTokens: (window * TAIL_SHARE) / weight,
    ...(turn !== undefined && { isInput }),
  });
  const [head, tail] = [history.slice(0, start), history.slice(start)];
  const last = head.at(-1);
  const isNearlyFull = tokens >= window * NEARLY_FULL;
  const isTooShort = head.length < 2 || (!force && estimateTokens(head) < estimate * MIN_GAIN);
  if (last === undefined || isTooShort)
    return buildUnchanged(
      "too_short",
      "Only the last exchanges are there, and they stay as they are.",
      isNearlyFull,
    );
  const isCounted = tokens !== estimate;
  const maxTokens = Math.floor((window * (isCounted ? COUNTED_SHARE : ESTIMATED_SHARE)) / weight);
  const summary = await requestSummary(
    {
      agent,
      session,
      messages: addSpeakerNames(head, options.speaker),
      maxTokens,
      ...(model !== undefined && { model }),
    },
    signal,
  );
  const fence = turn === undefined ? {} : { fence: turn.fence };
  // Without the fence: tokens were used, whichever runner holds the session now.
  const recordAbandonedUsage = async ({ usage } = summary): Promise<void> => {
    if (usage === undefined) return;
    await store.sessions.recordUsage({
      asker,
      session,
      purpose: "compress",
      usage,
      now: options.clock.now(),
    });
  };
  if (summary.text === undefined) {
    await recordAbandonedUsage();
    return buildUnchanged("failed", summary.reason ?? "", isNearlyFull && !signal.aborted);
  }
  const message = buildSummaryMessage(summary.text);
  const changed = await store.messages.changeView({
    asker,
    session,
    kind: "compress",
    summary: message,
    replaces: { count: head.length, last: { session: last.session, seq: last.seq } },
    usage: { ...summary.usage, lastPromptTokens: 0 },
    ...fence,
    now: options.clock.now(),
  });
  if (isRefused(changed)) {
    await recordAbandonedUsage();
    return buildUnchanged("failed", changed.reason);
  }
  const tokensAfter = Math.round(estimateTokens([message, ...tail]) * weight);
  const counts = { before: changed.before, after: changed.length, tokensBefore: tokens, tokensAfter };
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

function formatCompressionNotice(counts: CompressionCounts, isStillFull: boolean): string {
  const still = isStillFull ? " It is still nearly full: /new starts a new one." : "";
  return `This conversation had become long, so its beginning was summed up: ${formatCompressionCounts(counts)}. Everything said is kept; /search finds it.${still}`;
}

function buildUnchanged(
  why: "no_model" | "too_short" | "failed",
  reason: string,
  isNearlyFull = false,
): Compression {
  const notice = `This conversation nearly fills what the model can read, and could not be summed up: ${reason} /new starts a new one.`;
  return { outcome: "unchanged", why, reason, ...(isNearlyFull && { notice }) };
}
