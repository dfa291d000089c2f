import type { ListedSession } from "../../../core/listing.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Store } from "../../../ports/store.ts";
import { type Command, defineCommand, EVERYONE_OPTION } from "../command.ts";
import { type Io, printNotice } from "../io.ts";
import { formatMessageLines } from "../message-text.ts";
import { toAsker, withStore } from "../open-home.ts";
import { createStyle } from "../style.ts";
import { KIND_OPTION, PLATFORM_OPTION } from "./filters.ts";
import { formatSessionHeader } from "./header.ts";
import { buildListQuery, printSessionList, type SessionListOptions } from "./list.ts";

/** A page loads in a few milliseconds and fills any screen. */
const PAGE_SIZE = 100;
/** A preview shows the last messages. */
const PREVIEW_MESSAGES = 20;

export const browseSessionsCommand: Command = defineCommand({
  name: "sessions browse",
  about: `Shows your sessions on a full screen. Type to filter, use the arrow keys to select, Space or Tab for a preview, Enter to
continue a session, Esc (or q) to exit. Without a terminal it prints the list.`,
  options: {
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    all: { type: "flag", help: "include archived sessions" },
    everyone: EVERYONE_OPTION,
  },
  examples: [["postrider sessions browse", "select a session and continue it"]],
  async run({ values }, io) {
    const isScreen = io.input === process.stdin && io.input.isTTY === true && io.output.isTTY === true;
    if (!isScreen || io.environment.TERM === "dumb") {
      await printSessionList(io, values);
      return 0;
    }
    const chosen = await withStore(io, ({ store }) => chooseSession(io, store, values));
    if (chosen === undefined) return 0;
    const { resumeChat } = await import("../chat.ts");
    return resumeChat(io, chosen.id);
  },
});

async function chooseSession(
  io: Io,
  store: Store,
  values: SessionListOptions,
): Promise<ListedSession | undefined> {
  const query = { ...buildListQuery(values, io.now()), limit: PAGE_SIZE };
  const first = await store.sessions.querySessions(query);
  if (first.items.length === 0) {
    printNotice(io, "There are no sessions yet. Start one with: postrider");
    return undefined;
  }
  // Loaded late, because the screen library takes the longest to load.
  const [{ BrowseList }, { browseOnScreen }] = await Promise.all([
    import("./browse-list.ts"),
    import("./browse-screen.ts"),
  ]);
  const load = async (cursor: string | undefined) =>
    cursor === undefined ? first : store.sessions.querySessions({ ...query, cursor });
  return browseOnScreen(io, {
    list: new BrowseList(load),
    everyone: values.everyone,
    preview: (session) => loadPreview(io, store, session, values.everyone),
  });
}

async function loadPreview(
  io: Io,
  store: Store,
  session: ListedSession,
  everyone: boolean,
): Promise<string[]> {
  const ask = { asker: toAsker(everyone), session: session.id };
  const shape = await store.messages.getViewRanges(ask);
  const length = (shape?.pieces ?? []).reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const offset = Math.max(0, length - PREVIEW_MESSAGES);
  const messages = (await store.messages.readHistory({ ...ask, offset })) ?? [];
  const style = createStyle(io);
  const shown = { session: session.id, isOwn: session.owner === OWNER };
  return [
    ...formatSessionHeader(session, io.now(), length),
    "",
    ...(offset > 0
      ? [style.dim(`${offset} earlier messages: postrider sessions show ${session.handle}`), ""]
      : []),
    ...messages.flatMap((message) => formatMessageLines(message, shown, style)),
  ];
}
