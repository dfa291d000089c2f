import { getMemoryOwner } from "../../src/core/memory.ts";
import { type Asker, getChatAudience } from "../../src/core/owner.ts";
import type { Source } from "../../src/core/source.ts";
import type { ToolContext } from "../../src/tools/tool-context.ts";
import type { Home } from "./test-home.ts";
import { buildToolContext } from "./tool-context.ts";

/** A chat and a person in it. */
export interface SpokenIn {
  readonly source: Source;
  readonly conversation: number;
  readonly session: string;
  readonly asker: Asker;
  readonly context: ToolContext;
  say(words: string): Promise<void>;
}

/** Opens the conversation of the person in the chat. The store decides who owns the session. */
export async function comeTo(home: Home, source: Source, more: Partial<ToolContext> = {}): Promise<SpokenIn> {
  const { conversation, session } = await home.sessions.open(source);
  const known = await home.store.access.getAccount({
    platform: source.platform,
    ...(source.userId !== undefined && { userId: source.userId }),
  });
  const chat = getChatAudience(source);
  const asker: Asker = { person: known?.person ?? "nobody", ...(chat !== undefined && { chat }) };
  const context = buildToolContext(home, {
    session: session.id,
    conversation: conversation.number,
    target: source,
    asker,
    role: "member",
    owner: getMemoryOwner(session),
    ...more,
  });
  return {
    source,
    conversation: conversation.number,
    session: session.id,
    asker,
    context,
    say: async (words) => {
      await home.sessions.append(asker, session.id, { role: "user", text: words });
    },
  };
}
