import type { Routing } from "../../core/conversation.ts";
import type { Source } from "../../core/source.ts";
import { DEFAULT_RESET, routingOf } from "../../sessions/routing.ts";
import type { Editor } from "./editor.ts";

/** Where an editor's session is talked in: a thread is one session. */
export function editorSource(session: string): Source {
  return { platform: "acp", chatId: session, chatType: "dm" };
}

/** How what is said in a thread finds its session. It is made with its first use, and never starts afresh. */
export function editorRouting(
  { settings, clock }: Pick<Editor, "settings" | "clock">,
  session: string,
  cwd: string,
): Routing {
  const { zone, profile, scope } = settings();
  const routing = routingOf(editorSource(session), { zone, profile, scope, clock, reset: DEFAULT_RESET });
  return { ...routing, newSession: { id: session, kind: "editor", cwd } };
}
