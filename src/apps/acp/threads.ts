import type {
  ForkSessionRequest,
  LoadSessionRequest,
  McpServer,
  NewSessionRequest,
  ResumeSessionRequest,
} from "@agentclientprotocol/sdk/unstable";
import { uuidFrom } from "../../core/ids.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { Session } from "../../core/session.ts";
import { cleanTitle } from "../../core/titles.ts";
import { parseChoice } from "./choices.ts";
import { type EditorContext, findStoredSession, OWNER_ASKER } from "./editor-context.ts";
import { buildEditorRouting, buildEditorSource } from "./editor-source.ts";
import {
  formatMissingFolder,
  getSessionFolder,
  isFolder,
  requireAbsoluteFolder,
  requireExistingFolder,
} from "./folder.ts";
import { readLeftOutServers } from "./mcp-entries.ts";
import { editorSessionDeleted, editorSessionNotFound } from "./request-error.ts";
import { type Choices, listAgentModels, readChoices, showChoices } from "./show-state.ts";
import { openThread, type Thread, type ThreadOptions } from "./thread.ts";

/** Some editors ignore updates that arrive before they know the session. */
const INTRODUCTION_DELAY_MS = 100;

/** Creates a session in the folder of the request. */
export async function createThread(editor: EditorContext, request: NewSessionRequest): Promise<Thread> {
  editor.requireAgent(); // fails before anything is created
  const cwd = requireExistingFolder(request.cwd);
  const id = uuidFrom(editor.clock.random(16));
  await editor.store.conversations.open(buildEditorRouting(editor, id, cwd));
  editor.unusedSessions.add(id);
  const thread = await reopenThread(editor, id, { cwd, ...readServers(request) });
  thread.display.follower.start(0);
  editor.log.info({ session: id, cwd }, "session created");
  return thread;
}

/**
 * Opens a stored session in the folder of the request; an open thread of it closes first. The folder may be missing: people
 * open old threads to read them.
 */
export async function loadThread(
  editor: EditorContext,
  request: LoadSessionRequest | ResumeSessionRequest,
): Promise<Thread> {
  const { id, cwd: before } = await requireEditorSession(editor, request.sessionId);
  const cwd = requireAbsoluteFolder(request.cwd);
  if (before !== cwd && isFolder(cwd)) await (await editor.storedSessions()).change(id, { cwd });
  const thread = await reopenThread(editor, id, { cwd, ...readServers(request) });
  editor.log.info({ session: id, cwd }, "session restored");
  return thread;
}

/** Forks a session: both copies continue independently. */
export async function forkThread(editor: EditorContext, request: ForkSessionRequest): Promise<Thread> {
  const origin = await requireEditorSession(editor, request.sessionId);
  const cwd = requireExistingFolder(request.cwd);
  const copy = await (await editor.storedSessions()).fork(origin.id, { cwd });
  if (copy === undefined) throw editorSessionNotFound(origin.id);
  const thread = await reopenThread(editor, copy.id, { cwd, ...readServers(request) });
  await copySettings(editor, origin.id, thread);
  await thread.display.follow();
  editor.log.info({ session: copy.id, from: origin.id, cwd }, "session forked");
  return thread;
}

/** A fork keeps the model, personality and reasoning of its origin, but not its approvals. */
async function copySettings(
  { store, clock }: EditorContext,
  origin: string,
  { turns }: Thread,
): Promise<void> {
  const [before] = await store.conversations.findConversations({
    asker: OWNER_ASKER,
    source: buildEditorSource(origin),
  });
  const { model, personality, reasoning } = before?.settings ?? {};
  const change = {
    ...(model !== undefined && { model }),
    ...(personality !== undefined && { personality }),
    ...(reasoning !== undefined && { reasoning }),
  };
  if (Object.keys(change).length === 0) return;
  const { conversation } = await turns.chat.open();
  throwIfRefused(
    await store.conversations.changeConversationSettings({
      asker: OWNER_ASKER,
      conversation: conversation.number,
      change,
      now: clock.now(),
    }),
  );
}

/** Returns the open thread of a session, or opens it in its stored folder. */
export async function getThread(editor: EditorContext, id: string): Promise<Thread> {
  const here = editor.threads.get(id);
  if (here !== undefined) {
    if (editor.unusedSessions.has(id) || (await findStoredSession(editor, id)) !== undefined) return here;
    await closeThread(editor, id, true);
    throw editorSessionDeleted(id);
  }
  const cwd = getSessionFolder(await requireEditorSession(editor, id));
  const meanwhile = editor.threads.get(id);
  if (meanwhile !== undefined) return meanwhile;
  const thread = await reopenThread(editor, id, { cwd, mcpServers: [] });
  editor.log.info({ session: id, cwd }, "session restored");
  await thread.display.follow();
  scheduleIntroduction(editor, thread);
  return thread;
}

/** Closes the thread. The session stays. */
export async function closeThread(editor: EditorContext, id: string, ifOpen = false): Promise<void> {
  const here = editor.threads.get(id);
  if (here === undefined) {
    if (!ifOpen) await requireEditorSession(editor, id);
    return;
  }
  await endThread(editor, id, here);
  if (editor.threads.get(id) === here) editor.threads.delete(id);
}

async function endThread(editor: EditorContext, id: string, opening: Promise<Thread>): Promise<void> {
  editor.pendingPrompts.cancel(id);
  const thread = await opening.catch(() => undefined); // the request that opens it gets the error
  await thread?.close();
}

/** Removes the session. Does nothing if there is none. */
export async function removeThread(editor: EditorContext, id: string): Promise<void> {
  const sessions = await editor.storedSessions();
  if ((await sessions.find(id)) === undefined) return;
  await closeThread(editor, id, true);
  editor.unusedSessions.delete(id);
  await sessions.remove(id);
}

/** A title that is taken gets the next number; an empty one changes nothing. Returns the title of the session. */
export async function setThreadTitle(editor: EditorContext, id: string, title: string): Promise<string> {
  await getThread(editor, id);
  const clean = cleanTitle(title); // as typed, where a model's title would be trimmed
  const named =
    clean === undefined
      ? await findStoredSession(editor, id)
      : throwIfRefused(
          await editor.store.sessions.setTitle({
            asker: OWNER_ASKER,
            session: id,
            numbered: true,
            title: clean,
          }),
        );
  return named?.title ?? "";
}

export async function applyChoice(
  editor: EditorContext,
  id: string,
  option: string,
  value: unknown,
): Promise<Choices> {
  const thread = await getThread(editor, id);
  const change = parseChoice(option, value);
  const { conversation } = await thread.turns.chat.open();
  const { store, clock } = editor;
  throwIfRefused(
    await store.conversations.changeConversationSettings({
      asker: OWNER_ASKER,
      conversation: conversation.number,
      change,
      now: clock.now(),
    }),
  );
  await showChoices(editor, thread);
  return readChoices(editor, thread);
}

function readServers(request: {
  readonly mcpServers?: readonly McpServer[];
  readonly _meta?: unknown;
}): Omit<ThreadOptions, "cwd"> {
  return { mcpServers: request.mcpServers ?? [], leftOut: readLeftOutServers(request) };
}

async function reopenThread(editor: EditorContext, id: string, options: ThreadOptions): Promise<Thread> {
  const before = editor.threads.get(id);
  // Only one thread of a session may be open, or its messages would be shown twice.
  const opening = (before === undefined ? Promise.resolve() : endThread(editor, id, before)).then(() =>
    openThread(editor, id, options),
  );
  editor.threads.set(id, opening);
  try {
    return await opening;
  } catch (error) {
    if (editor.threads.get(id) === opening) editor.threads.delete(id);
    throw error;
  }
}

/** The options for the answer that opens a thread. Commands, models and problems follow a moment later. */
export async function finishOpening(editor: EditorContext, thread: Thread): Promise<Choices> {
  const choices = await readChoices(editor, thread);
  scheduleIntroduction(editor, thread);
  return choices;
}

function scheduleIntroduction(editor: EditorContext, thread: Thread): void {
  setTimeout(() => editor.signal.aborted || introduceThread(editor, thread), INTRODUCTION_DELAY_MS).unref();
}

function introduceThread(editor: EditorContext, thread: Thread): void {
  void showCommands(editor, thread);
  void listAgentModels(editor).then(async (names) => {
    if (names.length > 0 && !editor.signal.aborted) await showChoices(editor, thread);
  });
  if (!isFolder(thread.cwd)) thread.display.showNotice(`_${formatMissingFolder(thread.cwd)}_\n\n`);
  void thread.tools.listProblems().then((problems) => {
    if (problems.length > 0 && !editor.signal.aborted)
      thread.display.showNotice(`_${problems.join(" ")}_\n\n`);
  });
}

export async function showCommands(
  editor: Pick<EditorContext, "customCommands">,
  thread: Pick<Thread, "display" | "isIntroduced">,
): Promise<void> {
  thread.isIntroduced = true;
  const { listEditorCommands } = await import("./editor-commands.ts");
  const availableCommands = listEditorCommands(editor.customCommands());
  thread.display.show({ sessionUpdate: "available_commands_update", availableCommands });
}

async function requireEditorSession(editor: EditorContext, id: string): Promise<Session> {
  const session = await (await editor.storedSessions()).find(id);
  if (session === undefined) throw editorSessionNotFound(id);
  return session;
}
