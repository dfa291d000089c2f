import { PostriderError } from "../../core/errors.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import type { Store } from "../../ports/store.ts";
import { matchSession } from "../../sessions/match-session.ts";

/** Resolves an argument to a session. The error lists several matches, or says how to find a session. */
export async function resolveSessionArgument(store: Store, who: Asker, text: string): Promise<Session> {
  const { session, candidates } = await matchSession(store, who, text);
  if (session !== undefined) return session;
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  if (candidates.length === 0) {
    const elsewhere = isEveryone(who) ? "" : "; --everyone includes other people's";
    throw new PostriderError(
      "not_found",
      `There is no session "${shown}". postrider sessions list lists sessions, postrider sessions search searches their text${elsewhere}.`,
      { details: { session: text } },
    );
  }
  throw new PostriderError(
    "ambiguous",
    `"${shown}" matches ${candidates.length} sessions. Use a handle or a complete id:`,
    {
      details: {
        candidates: candidates.map(({ id, handle, title }) => ({ id, handle, title: title ?? null })),
      },
    },
  );
}
