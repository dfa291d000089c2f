import { type Message, textPart } from "../core/message.ts";
import { type Asker, SYSTEM } from "../core/owner.ts";
import { joinDeltas, type UsageDelta } from "../core/usage.ts";
import type { Agent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** A title is for finding a conversation again: after this many messages of a person it either has one or needs none. */
const MOST_HUMAN_MESSAGES = 2;
const TITLE_TIMEOUT_MS = 15_000;
const EXCERPT = 500;

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
 * Asks the agent for a title after the first exchange. Nobody waits for it and nobody is told of a failure. It never
 * replaces a title that is there, also one that a person gives meanwhile. What it used is counted, also when it failed.
 */
export async function proposeTitle(by: TitleRequest, session: string, signal: AbortSignal): Promise<void> {
  const { agent, sessions, who, model } = by;
  if (!agent.canTitle) return;
  const found = await sessions.get(who, session);
  if (found === undefined || found.title !== undefined) return;
  if (found.humanCount > MOST_HUMAN_MESSAGES) return;
  const said = (await sessions.history(who, session, { limit: 4 })) ?? [];
  const history = [...said.map(toExcerpt), { ...request, session, seq: said.length + 1 }];
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
  const asked = usage === undefined ? {} : { usage };
  await sessions.autoTitle(who, session, proposed, { ifUntitled: true, ...asked });
}

const request = { role: "user", at: 0, parts: [textPart(REQUEST)] } as const;

/** Words alone, and not too many: a title needs no pictures. */
function toExcerpt(message: Message): Message {
  const words = message.parts.flatMap((part) =>
    part.type === "text" ? [textPart(part.text.slice(0, EXCERPT))] : [],
  );
  return { ...message, parts: words };
}

/**
 * Finds the model that the chat of a session chose. Requests for a title or the memory use it, too: the chat may have
 * chosen it so that no other provider reads the conversation.
 */
export async function findChosenModel(
  store: Pick<Store, "conversations" | "sessions">,
  session: string,
): Promise<string | undefined> {
  const pointing = await store.conversations.findConversations({ asker: SYSTEM, session });
  if (pointing.length > 0)
    return pointing.find(({ settings }) => settings.model !== undefined)?.settings.model;
  // The chat switched to another session, but its choice still counts.
  const found = await store.sessions.getSession({ asker: SYSTEM, session });
  if (found?.origin === undefined) return undefined;
  const left = await store.conversations.findConversations({ asker: SYSTEM, source: found.origin });
  return left.find(({ settings }) => settings.model !== undefined)?.settings.model;
}
