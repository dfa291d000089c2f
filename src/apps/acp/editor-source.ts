import type { Routing } from "../../core/conversation.ts";
import { scopeFor } from "../../core/identity.ts";
import { EDITOR_PLATFORM } from "../../core/platforms.ts";
import type { Source } from "../../core/source.ts";
import type { EditorContext } from "./editor-context.ts";

/** Where an editor's session is talked in: a thread is one session. */
export function buildEditorSource(session: string): Source {
  return { platform: EDITOR_PLATFORM, chatId: session, chatType: "dm" };
}

/** How what is said in a thread finds its session. It is made with its first use, and never starts afresh. */
export function buildEditorRouting(
  { settings, clock }: Pick<EditorContext, "settings" | "clock">,
  session: string,
  cwd: string,
): Routing {
  const { profile, scope } = settings();
  const source = buildEditorSource(session);
  return {
    source,
    profile,
    scope: scopeFor(scope, source.platform),
    reset: {},
    newSession: { id: session, kind: "editor", cwd },
    now: clock.now(),
  };
}
