import { type Message, textPart } from "../core/message.ts";
import { type Asker, SYSTEM } from "../core/owner.ts";
import { joinDeltas, type UsageDelta } from "../core/usage.ts";
import type { Agent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** A conversation with more messages of a person gets no title any more. */
const MAX_HUMAN_MESSAGES = 2;
const TITLE_TIMEOUT_MS = 15_000;
const EXCERPT_CHARACTERS = 500;

const REQUEST =
  "Write a title for this conversation, in its language: three to seven words, without quotes and without a full stop. Answer with the title alone.";

export interface TitleRequest {
  readonly agent: Agent;
  readonly sessions: Sessions;
  readonly who: Asker;
  /** The model that the chat chose. */
  readonly model?: string | undefined;
}

/**
 * Asks the agent for a title after the first exchange, in the background. It never replaces a title, also not one that a
 * person sets meanwhile. Its usage counts, also when it fails.
 */
export async function proposeTitle(
  options: TitleRequest,
  session: string,
  signal: AbortSignal,
): Promise<void> {
  const { agent, sessions, who, model } = options;
  if (!agent.canTitle) return;
  const found = await sessions.get(who, session);
  if (found === undefined || found.title !== undefined) return;
  if (found.humanCount > MAX_HUMAN_MESSAGES) return;
  const messages = (await sessions.history(who, session, { limit: 4 })) ?? [];
  const history = [...messages.map(toExcerpt), { ...request, session, seq: messages.length + 1 }];
  const until = AbortSignal.any([signal, AbortSignal.timeout(TITLE_TIMEOUT_MS)]);
  let title = "";
  let isFailed = false;
  let usage: UsageDelta | undefined;
  const turn = { session, history, blob: async () => undefined, ...(model !== undefined && { model }) };
  for await (const event of agent.run(turn, until)) {
    if (event.type === "text") title += event.text;
    else if (event.type === "usage") usage = joinDeltas(usage, event.usage);
    else if (event.type === "failed") isFailed = true;
  }
  const proposed = isFailed || until.aborted ? "" : title;
  if (proposed === "" && usage === undefined) return;
  const spent = usage === undefined ? {} : { usage };
  await sessions.autoTitle(who, session, proposed, { ifUntitled: true, ...spent });
}

const request = { role: "user", at: 0, parts: [textPart(REQUEST)] } as const;

/** The beginning of the text, without images. */
function toExcerpt(message: Message): Message {
  const parts = message.parts.flatMap((part) =>
    part.type === "text" ? [textPart(part.text.slice(0, EXCERPT_CHARACTERS))] : [],
  );
  return { ...message, parts };
}

/**
 * Finds the model that the chat of a session chose. Requests for a title or the memory use it, too: the chat may have
 * chosen it so that no other provider reads the conversation.
 */
export async function findChosenModel(
  store: Pick<Store, "conversations" | "sessions">,
  session: string,
): Promise<string | undefined> {
  const current = await store.conversations.findConversations({ asker: SYSTEM, session });
  if (current.length > 0) return current.find(({ settings }) => settings.model !== undefined)?.settings.model;
  // The chat switched to another session, but its choice still counts.
  const found = await store.sessions.getSession({ asker: SYSTEM, session });
  if (found?.origin === undefined) return undefined;
  const earlier = await store.conversations.findConversations({ asker: SYSTEM, source: found.origin });
  return earlier.find(({ settings }) => settings.model !== undefined)?.settings.model;
}
