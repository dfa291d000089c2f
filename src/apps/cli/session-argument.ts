import { PostriderError } from "../../core/errors.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import type { Store } from "../../ports/store.ts";
import { matchSession } from "../../sessions/match-session.ts";

/** The session that an argument names; several are listed, none says how to find one. */
export async function resolveSessionArgument(store: Store, who: Asker, text: string): Promise<Session> {
  const { session, candidates } = await matchSession(store, who, text);
  if (session !== undefined) return session;
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  if (candidates.length === 0) {
    const elsewhere = isEveryone(who) ? "" : "; --everyone looks at other people's too";
    throw new PostriderError(
      "not_found",
      `There is no session "${shown}". postrider sessions list shows what there is, postrider sessions search finds words${elsewhere}.`,
      { details: { session: text } },
    );
  }
  throw new PostriderError(
    "ambiguous",
    `"${shown}" could be ${candidates.length} sessions. Take a handle or a whole id:`,
    {
      details: {
        candidates: candidates.map(({ id, handle, title }) => ({ id, handle, title: title ?? null })),
      },
    },
  );
}
