import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk/unstable";
import { untilAborted } from "../../agents/until-aborted.ts";
import { configOptions, modesOf } from "./choices.ts";
import type { Editor } from "./editor.ts";
import { timeOf } from "./listing.ts";
import { storedSession } from "./stored-session.ts";
import type { Thread } from "./thread.ts";

/** How long it is waited for names that a provider is slow to give. */
const NAMED_WITHIN_MS = 200;

export interface Choices {
  readonly modes: SessionModeState;
  readonly configOptions: SessionConfigOption[];
}

/** What a thread is set to, as its opening answers it. */
export async function choicesOf(editor: Editor, { talk }: Pick<Thread, "talk">): Promise<Choices> {
  const settings = (await talk.look())?.conversation.settings ?? {};
  const { name } = editor.answering() ?? { name: "no model" };
  // Clients read the names in the answer that opens a thread, and may drop what is told right after it.
  const models = (await untilAborted(modelNames(editor), AbortSignal.timeout(NAMED_WITHIN_MS))) ?? [];
  return { modes: modesOf(settings), configOptions: configOptions(settings, { name, models }) };
}

/** The models that may be chosen, which the agent remembers. None where it cannot say. */
export async function modelNames({ answering, signal, log }: Editor): Promise<readonly string[]> {
  try {
    return (await answering()?.models?.(signal)) ?? [];
  } catch (error) {
    log.warn({ error }, "the models are not known");
    return [];
  }
}

/** Both ways of telling it, since an editor may know one alone; if it is not what the editor knows already. */
export async function showChoices(editor: Editor, thread: Thread): Promise<void> {
  const choices = await choicesOf(editor, thread);
  if (!thread.knows.isNews("choices", choices)) return;
  const { modes, configOptions: options } = choices;
  thread.show({ sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId });
  thread.show({ sessionUpdate: "config_option_update", configOptions: options });
}

export async function showCommands(thread: Pick<Thread, "show" | "isIntroduced">): Promise<void> {
  thread.isIntroduced = true;
  const { availableCommands } = await import("./commands.ts");
  thread.show({ sessionUpdate: "available_commands_update", availableCommands: availableCommands() });
}

export async function showInfo(editor: Editor, thread: Thread): Promise<void> {
  const session = await storedSession(editor, thread.id);
  if (session === undefined) return;
  const { title } = session;
  const info = { ...(title !== undefined && { title }), updatedAt: timeOf(session) };
  if (thread.knows.isNews("info", info)) thread.show({ sessionUpdate: "session_info_update", ...info });
}

/** How much of the model's window the session takes, where the model says how large it is. */
export async function showUsage(editor: Editor, thread: Thread): Promise<void> {
  const session = await storedSession(editor, thread.id);
  const agent = editor.answering();
  const size = agent?.windowOf?.(session?.usage.model ?? agent.name) ?? agent?.window;
  if (session === undefined || !size) return;
  const { lastPromptTokens: used, costUsd } = session.usage;
  const cost = costUsd === undefined ? {} : { cost: { amount: costUsd, currency: "USD" } };
  thread.show({ sessionUpdate: "usage_update", used, size, ...cost });
}
