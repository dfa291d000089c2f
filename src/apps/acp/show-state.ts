import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk/unstable";
import { awaitUnlessAborted } from "../../agents/await-unless-aborted.ts";
import { buildConfigOptions, buildModes } from "./choices.ts";
import type { EditorContext } from "./editor-context.ts";
import { findStoredSession } from "./find-stored-session.ts";
import { formatUpdatedAt } from "./list-editor-sessions.ts";
import type { Thread } from "./thread.ts";

/** How long it is waited for names that a provider is slow to give. */
const MODEL_NAMES_TIMEOUT_MS = 200;

export interface Choices {
  readonly modes: SessionModeState;
  readonly configOptions: SessionConfigOption[];
}

/** What a thread is set to, as its opening answers it. */
export async function readChoices(editor: EditorContext, { talk }: Pick<Thread, "talk">): Promise<Choices> {
  const settings = (await talk.findCurrent())?.conversation.settings ?? {};
  const { name } = editor.findAgent() ?? { name: "no model" };
  // Clients read the names in the answer that opens a thread, and may drop what is told right after it.
  const models =
    (await awaitUnlessAborted(listAgentModels(editor), AbortSignal.timeout(MODEL_NAMES_TIMEOUT_MS))) ?? [];
  return { modes: buildModes(settings), configOptions: buildConfigOptions(settings, { name, models }) };
}

/** The models that may be chosen, which the agent remembers. None where it cannot say. */
export async function listAgentModels({ findAgent, signal, log }: EditorContext): Promise<readonly string[]> {
  try {
    return (await findAgent()?.models?.(signal)) ?? [];
  } catch (error) {
    log.warn({ error }, "the models are not known");
    return [];
  }
}

/** Both ways of telling it, since an editor may know one alone; if it is not what the editor knows already. */
export async function showChoices(editor: EditorContext, thread: Thread): Promise<void> {
  const choices = await readChoices(editor, thread);
  if (!thread.lastSent.recordIfChanged("choices", choices)) return;
  const { modes, configOptions: options } = choices;
  thread.show({ sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId });
  thread.show({ sessionUpdate: "config_option_update", configOptions: options });
}

export async function showCommands(
  editor: Pick<EditorContext, "customCommands">,
  thread: Pick<Thread, "show" | "isIntroduced">,
): Promise<void> {
  thread.isIntroduced = true;
  const { listEditorCommands } = await import("./commands.ts");
  const availableCommands = listEditorCommands(editor.customCommands());
  thread.show({ sessionUpdate: "available_commands_update", availableCommands });
}

export async function showInfo(editor: EditorContext, thread: Thread): Promise<void> {
  const session = await findStoredSession(editor, thread.id);
  if (session === undefined) return;
  const { title } = session;
  const info = { ...(title !== undefined && { title }), updatedAt: formatUpdatedAt(session) };
  if (thread.lastSent.recordIfChanged("info", info))
    thread.show({ sessionUpdate: "session_info_update", ...info });
}

/** How much of the model's window the session takes, where the model says how large it is. */
export async function showUsage(editor: EditorContext, thread: Thread): Promise<void> {
  const session = await findStoredSession(editor, thread.id);
  const agent = editor.findAgent();
  const size = agent?.getContextWindow?.(session?.usage.model ?? agent.name) ?? agent?.contextWindow;
  if (session === undefined || !size) return;
  const { lastPromptTokens: used, costUsd } = session.usage;
  const cost = costUsd === undefined ? {} : { cost: { amount: costUsd, currency: "USD" } };
  thread.show({ sessionUpdate: "usage_update", used, size, ...cost });
}
