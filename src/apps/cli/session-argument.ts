import { PostriderError } from "../../core/errors.ts";
import { type Asker, isEveryone, OWNER } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import { cleanTitle } from "../../core/titles.ts";
import type { Store } from "../../ports/store.ts";

/**
 * The one session that a person means by an id, a handle, a title or the beginning of an id. What is written out in
 * full wins over a beginning.
 */
export async function sessionNamed(store: Store, who: Asker, text: string): Promise<Session> {
  const found = await store.find({ asker: who, text });
  const exact = found.find(({ id, handle }) => id === text || handle === text);
  const named = exact ?? (await titled(store, who, text));
  if (named !== undefined) return named;
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined)
    throw ambiguous(`"${shown(text)}" could be ${found.length} sessions. Write more of the id`, found);
  const elsewhere = isEveryone(who) ? "" : "; --everyone looks at other people's too";
  throw new PostriderError(
    "not_found",
    `There is no session "${shown(text)}". postrider sessions list shows what there is, postrider sessions search finds words${elsewhere}.`,
    { details: { session: text } },
  );
}

/** The newest of the title's lineage: one's own first; among other people's it must be the only one. */
async function titled(store: Store, who: Asker, text: string): Promise<Session | undefined> {
  const title = asTitle(text);
  if (title === undefined) return undefined;
  const own = await store.findByTitle({ asker: isEveryone(who) ? { person: OWNER } : who, title });
  if (own !== undefined || !isEveryone(who)) return own;
  const first = await store.findByTitle({ asker: who, title });
  if (first === undefined) return undefined;
  const namesakes: Session[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await store.list({
      asker: who,
      titled: true,
      archived: "both",
      limit: 1000,
      ...(cursor !== undefined && { cursor }),
    });
    namesakes.push(...page.items.filter((session) => session.title === first.title));
    cursor = page.cursor;
  }
  if (namesakes.length <= 1) return first;
  throw ambiguous(`${namesakes.length} people have a session "${shown(text)}". Take its handle`, namesakes);
}

function asTitle(text: string): string | undefined {
  try {
    return cleanTitle(text);
  } catch {
    return undefined; // longer than any title
  }
}

function ambiguous(sentence: string, found: readonly Session[]): PostriderError {
  return new PostriderError("ambiguous", `${sentence}:`, {
    details: { candidates: found.map(({ id, handle, title }) => ({ id, handle, title: title ?? null })) },
  });
}

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
