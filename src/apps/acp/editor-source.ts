import type { Routing } from "../../core/conversation.ts";
import { scopeFor } from "../../core/identity.ts";
import { EDITOR_PLATFORM } from "../../core/platforms.ts";
import type { Source } from "../../core/source.ts";
import type { EditorContext } from "./editor-context.ts";

/** The source of an editor thread. Each thread is one session. */
export function buildEditorSource(session: string): Source {
  return { platform: EDITOR_PLATFORM, chatId: session, chatType: "dm" };
}

/** Routes a thread to its session, which the first use creates. It never resets. */
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
