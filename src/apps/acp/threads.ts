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
import { parseChoice } from "./choices.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { buildEditorRouting, buildEditorSource } from "./editor-source.ts";
import { findStoredSession } from "./find-stored-session.ts";
import {
  formatMissingFolder,
  getSessionFolder,
  isFolder,
  requireAbsoluteFolder,
  requireExistingFolder,
} from "./folder.ts";
import { readLeftOutServers } from "./mcp-entries.ts";
import { editorSessionDeleted, editorSessionNotFound } from "./request-error.ts";
import { type Choices, listAgentModels, readChoices, showChoices, showCommands } from "./show-state.ts";
import { openThread, type Thread, type ThreadOptions, toNoticeUpdate } from "./thread.ts";

/** An editor may not know a session yet in the moment in which it is told of it. */
const INTRODUCTION_DELAY_MS = 100;

/** A session that is new, with its folder. */
export async function createThread(editor: EditorContext, given: NewSessionRequest): Promise<Thread> {
  editor.requireAgent(); // whoever has none is told before anything is made
  const cwd = requireExistingFolder(given.cwd);
  const id = createSessionId(editor);
  await editor.store.conversations.open(buildEditorRouting(editor, id, cwd));
  editor.unusedSessions.add(id);
  const thread = await reopenThread(editor, id, { cwd, ...readServers(given) });
  thread.follower.start(0);
  editor.log.info({ session: id, cwd }, "session created");
  return thread;
}

/**
 * A session that is there, in the folder that the editor says. What this process has open of it begins anew. The folder
 * may be gone: a person opens an old thread to read it.
 */
export async function loadThread(
  editor: EditorContext,
  given: LoadSessionRequest | ResumeSessionRequest,
): Promise<Thread> {
  const { id, cwd: before } = await requireEditorSession(editor, given.sessionId);
  const cwd = requireAbsoluteFolder(given.cwd);
  if (before !== cwd && isFolder(cwd)) await (await editor.sessions()).change(OWNER_ASKER, id, { cwd });
  const thread = await reopenThread(editor, id, { cwd, ...readServers(given) });
  editor.log.info({ session: id, cwd }, "session restored");
  return thread;
}

/** A session that goes on from another; both go their own way. */
export async function forkThread(editor: EditorContext, given: ForkSessionRequest): Promise<Thread> {
  const origin = await requireEditorSession(editor, given.sessionId);
  const cwd = requireExistingFolder(given.cwd);
  const copy = await (await editor.sessions()).fork(OWNER_ASKER, origin.id, {
    id: createSessionId(editor),
    kind: "editor",
    cwd,
  });
  const thread = await reopenThread(editor, copy.id, { cwd, ...readServers(given) });
  await copySettings(editor, origin.id, thread);
  await thread.follow();
  editor.log.info({ session: copy.id, from: origin.id, cwd }, "session forked");
  return thread;
}

/** What was chosen about who answers, and how, holds in a fork, too; not what was allowed. */
async function copySettings(
  { store, clock }: EditorContext,
  origin: string,
  { talk }: Thread,
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
  const { conversation } = await talk.open();
  throwIfRefused(
    await store.conversations.changeConversationSettings({
      asker: OWNER_ASKER,
      conversation: conversation.number,
      change,
      now: clock.now(),
    }),
  );
}

/** The thread of a session: as it is open here, else opened as it was left. */
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
  await thread.follow();
  scheduleIntroduction(editor, thread);
  return thread;
}

/** Ends what is being answered, and lets go of it. The session stays. */
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
  const thread = await opening.catch(() => undefined); // whoever opens it is told why that failed
  await thread?.close();
}

/** Gone for good. One that is not there is gone, too. */
export async function removeThread(editor: EditorContext, id: string): Promise<void> {
  if ((await findEditorSession(editor, id)) === undefined) return;
  await closeThread(editor, id, true);
  editor.unusedSessions.delete(id);
  await (await editor.sessions()).remove(OWNER_ASKER, id);
}

export async function applyChoice(
  editor: EditorContext,
  id: string,
  option: string,
  value: unknown,
): Promise<Choices> {
  const thread = await getThread(editor, id);
  const change = parseChoice(option, value);
  const { conversation } = await thread.talk.open();
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

function readServers(given: {
  readonly mcpServers?: readonly McpServer[];
  readonly _meta?: unknown;
}): Omit<ThreadOptions, "cwd"> {
  return { mcpServers: given.mcpServers ?? [], leftOut: readLeftOutServers(given) };
}

async function reopenThread(editor: EditorContext, id: string, given: ThreadOptions): Promise<Thread> {
  const before = editor.threads.get(id);
  // Behind what is open of it, or is being opened: nothing of a session is shown twice.
  const opening = (before === undefined ? Promise.resolve() : endThread(editor, id, before)).then(() =>
    openThread(editor, id, given),
  );
  editor.threads.set(id, opening);
  try {
    return await opening;
  } catch (error) {
    if (editor.threads.get(id) === opening) editor.threads.delete(id);
    throw error;
  }
}

/** What can be chosen in a thread that is open now. With this answer the editor learns of it: the rest follows. */
export async function finishOpening(editor: EditorContext, thread: Thread): Promise<Choices> {
  const choices = await readChoices(editor, thread);
  scheduleIntroduction(editor, thread);
  return choices;
}

function scheduleIntroduction(editor: EditorContext, thread: Thread): void {
  setTimeout(() => editor.signal.aborted || introduceThread(editor, thread), INTRODUCTION_DELAY_MS).unref();
}

/** What the editor is told of a thread once it knows that there is one. */
function introduceThread(editor: EditorContext, thread: Thread): void {
  void showCommands(editor, thread);
  void listAgentModels(editor).then(async (names) => {
    if (names.length > 0 && !editor.signal.aborted) await showChoices(editor, thread);
  });
  if (!isFolder(thread.cwd)) thread.show(toNoticeUpdate(`_${formatMissingFolder(thread.cwd)}_\n\n`));
  void thread.problems().then((problems) => {
    if (problems.length > 0 && !editor.signal.aborted)
      thread.show(toNoticeUpdate(`_${problems.join(" ")}_\n\n`));
  });
}

async function requireEditorSession(editor: EditorContext, id: string): Promise<Session> {
  const session = await findEditorSession(editor, id);
  if (session === undefined) throw editorSessionNotFound(id);
  return session;
}

/** What did not begin in an editor is shown to whoever asked for all. */
async function findEditorSession(editor: EditorContext, id: string): Promise<Session | undefined> {
  const session = await findStoredSession(editor, id);
  return session !== undefined && (editor.all || session.kind === "editor") ? session : undefined;
}

function createSessionId({ clock }: EditorContext): string {
  return uuidFrom(clock.random(16));
}
