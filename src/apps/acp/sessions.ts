import type {
  ForkSessionRequest,
  LoadSessionRequest,
  McpServer,
  NewSessionRequest,
  ResumeSessionRequest,
} from "@agentclientprotocol/sdk/unstable";
import { uuidFrom } from "../../core/ids.ts";
import { unrefused } from "../../core/refusal.ts";
import type { Session } from "../../core/session.ts";
import { chosenBy } from "./choices.ts";
import { type Editor, who } from "./editor.ts";
import { editorRouting, editorSource } from "./editor-source.ts";
import { absoluteFolder, existingFolder, folderOf, isFolder, missingFolder } from "./folder.ts";
import { serversLeftOut } from "./mcp-entries.ts";
import { deletedSession, noSession } from "./request-error.ts";
import { type Choices, choicesOf, modelNames, showChoices, showCommands } from "./show-state.ts";
import { storedSession } from "./stored-session.ts";
import { openThread, type Thread, type ThreadGiven, told } from "./thread.ts";

/** An editor may not know a session yet in the moment in which it is told of it. */
const INTRODUCED_AFTER_MS = 100;

/** A session that is new, with its folder. */
export async function newThread(editor: Editor, given: NewSessionRequest): Promise<Thread> {
  editor.agent(); // whoever has none is told before anything is made
  const cwd = existingFolder(given.cwd);
  const id = newId(editor);
  await editor.store.open(editorRouting(editor, id, cwd));
  editor.made.add(id);
  const thread = await open(editor, id, { cwd, ...serversIn(given) });
  thread.others.start(0);
  editor.log.info({ session: id, cwd }, "session created");
  return thread;
}

/**
 * A session that is there, in the folder that the editor says. What this process has open of it begins anew. The folder
 * may be gone: a person opens an old thread to read it.
 */
export async function loadThread(
  editor: Editor,
  given: LoadSessionRequest | ResumeSessionRequest,
): Promise<Thread> {
  const { id, cwd: before } = await visible(editor, given.sessionId);
  const cwd = absoluteFolder(given.cwd);
  if (before !== cwd && isFolder(cwd)) await (await editor.sessions()).change(who, id, { cwd });
  const thread = await open(editor, id, { cwd, ...serversIn(given) });
  editor.log.info({ session: id, cwd }, "session restored");
  return thread;
}

/** A session that goes on from another; both go their own way. */
export async function forkThread(editor: Editor, given: ForkSessionRequest): Promise<Thread> {
  const origin = await visible(editor, given.sessionId);
  const cwd = existingFolder(given.cwd);
  const copy = await (await editor.sessions()).fork(who, origin.id, {
    id: newId(editor),
    kind: "editor",
    cwd,
  });
  const thread = await open(editor, copy.id, { cwd, ...serversIn(given) });
  await answerAlike(editor, origin.id, thread);
  await thread.goOn();
  editor.log.info({ session: copy.id, from: origin.id, cwd }, "session forked");
  return thread;
}

/** What was chosen about who answers, and how, holds in a fork, too; not what was allowed. */
async function answerAlike({ store, clock }: Editor, origin: string, { talk }: Thread): Promise<void> {
  const [before] = await store.conversations({ asker: who, source: editorSource(origin) });
  const { model, personality, reasoning } = before?.settings ?? {};
  const change = {
    ...(model !== undefined && { model }),
    ...(personality !== undefined && { personality }),
    ...(reasoning !== undefined && { reasoning }),
  };
  if (Object.keys(change).length === 0) return;
  const { conversation } = await talk.open();
  unrefused(await store.choose({ asker: who, conversation: conversation.number, change, now: clock.now() }));
}

/** The thread of a session: as it is open here, else opened as it was left. */
export async function threadOf(editor: Editor, id: string): Promise<Thread> {
  const here = editor.threads.get(id);
  if (here !== undefined) {
    if (editor.made.has(id) || (await storedSession(editor, id)) !== undefined) return here;
    await closeThread(editor, id, true);
    throw deletedSession(id);
  }
  const cwd = folderOf(await visible(editor, id));
  const meanwhile = editor.threads.get(id);
  if (meanwhile !== undefined) return meanwhile;
  const thread = await open(editor, id, { cwd, mcpServers: [] });
  editor.log.info({ session: id, cwd }, "session restored");
  await thread.goOn();
  introduceSoon(editor, thread);
  return thread;
}

/** Ends what is being answered, and lets go of it. The session stays. */
export async function closeThread(editor: Editor, id: string, ifOpen = false): Promise<void> {
  const here = editor.threads.get(id);
  if (here === undefined) {
    if (!ifOpen) await visible(editor, id);
    return;
  }
  await end(editor, id, here);
  if (editor.threads.get(id) === here) editor.threads.delete(id);
}

async function end(editor: Editor, id: string, opening: Promise<Thread>): Promise<void> {
  editor.asked.cancel(id);
  const thread = await opening.catch(() => undefined); // whoever opens it is told why that failed
  await thread?.close();
}

/** Gone for good. One that is not there is gone, too. */
export async function removeThread(editor: Editor, id: string): Promise<void> {
  if ((await found(editor, id)) === undefined) return;
  await closeThread(editor, id, true);
  editor.made.delete(id);
  await (await editor.sessions()).remove(who, id);
}

export async function choose(editor: Editor, id: string, option: string, value: unknown): Promise<Choices> {
  const thread = await threadOf(editor, id);
  const change = chosenBy(option, value);
  const { conversation } = await thread.talk.open();
  const { store, clock } = editor;
  unrefused(await store.choose({ asker: who, conversation: conversation.number, change, now: clock.now() }));
  await showChoices(editor, thread);
  return choicesOf(editor, thread);
}

function serversIn(given: {
  readonly mcpServers?: readonly McpServer[];
  readonly _meta?: unknown;
}): Omit<ThreadGiven, "cwd"> {
  return { mcpServers: given.mcpServers ?? [], leftOut: serversLeftOut(given) };
}

async function open(editor: Editor, id: string, given: ThreadGiven): Promise<Thread> {
  const before = editor.threads.get(id);
  // Behind what is open of it, or is being opened: nothing of a session is shown twice.
  const opening = (before === undefined ? Promise.resolve() : end(editor, id, before)).then(() =>
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
export async function opened(editor: Editor, thread: Thread): Promise<Choices> {
  const choices = await choicesOf(editor, thread);
  introduceSoon(editor, thread);
  return choices;
}

function introduceSoon(editor: Editor, thread: Thread): void {
  setTimeout(() => editor.signal.aborted || introduce(editor, thread), INTRODUCED_AFTER_MS).unref();
}

/** What the editor is told of a thread once it knows that there is one. */
function introduce(editor: Editor, thread: Thread): void {
  void showCommands(thread);
  void modelNames(editor).then(async (names) => {
    if (names.length > 0 && !editor.signal.aborted) await showChoices(editor, thread);
  });
  if (!isFolder(thread.cwd)) thread.show(told(`_${missingFolder(thread.cwd)}_\n\n`));
  void thread.problems().then((problems) => {
    if (problems.length > 0 && !editor.signal.aborted) thread.show(told(`_${problems.join(" ")}_\n\n`));
  });
}

async function visible(editor: Editor, id: string): Promise<Session> {
  const session = await found(editor, id);
  if (session === undefined) throw noSession(id);
  return session;
}

/** What did not begin in an editor is shown to whoever asked for all. */
async function found(editor: Editor, id: string): Promise<Session | undefined> {
  const session = await storedSession(editor, id);
  return session !== undefined && (editor.all || session.kind === "editor") ? session : undefined;
}

function newId({ clock }: Editor): string {
  return uuidFrom(clock.random(16));
}
