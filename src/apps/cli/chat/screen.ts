import { type Component, Editor, matchesKey, ProcessTerminal, TuiMainScreen } from "@earendil-works/pi-tui";
import { applyReply } from "../../../commands/apply-reply.ts";
import type { Choice, CommandReply } from "../../../commands/command.ts";
import { getAllowedCommand, runChatCommand } from "../../../commands/table.ts";
import { parseCommand, unescapeSlash } from "../../../core/command-grammar.ts";
import type { Agent } from "../../../ports/agent.ts";
import { findChosenModel, proposeTitle } from "../../../turns/propose-title.ts";
import type { Config } from "../../config/config.ts";
import { startDailyCopies } from "../../daily-copies.ts";
import type { LoadedPlugins } from "../../plugins/load-plugins.ts";
import { saveDocument } from "../../save-document.ts";
import { hasColor, type Io, printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";
import { completion } from "./completion.ts";
import { conversationView } from "./conversation-view.ts";
import { exitKeys } from "./exit-keys.ts";
import { pendingView } from "./pending-view.ts";
import { picker } from "./picker.ts";
import { formatResetNotice } from "./pipe.ts";
import { sessionScreen } from "./session-screen.ts";
import { stabilizeLines } from "./stabilize-lines.ts";
import { type ChatStart, openChatSession, startChat } from "./start-chat.ts";
import { statusLine } from "./status-line.ts";
import { buildTheme } from "./theme.ts";

/** The chat screen: messages above, an editor and a status line below. Resolves with the exit code. */
export async function runScreen(
  io: Io,
  startIn: ChatStart,
  agent: Agent,
  config: Config | undefined,
  hint?: string,
  plugins?: LoadedPlugins,
): Promise<number> {
  const welcome: string[] = [];
  const home = prepareHome(io, (line) => welcome.push(line));
  const theme = buildTheme(hasColor(io));
  const view = conversationView(theme);
  const waiting = pendingView(theme);
  const status = statusLine(theme);
  const tui = new TuiMainScreen(new ProcessTerminal());
  const editor = new Editor(tui, theme.editor);
  const tell = (markdown: string): void => {
    view.showMarkdown(markdown);
    tui.requestRender();
  };
  const fail = (error: unknown): void => {
    view.showError((error as Error).message);
    tui.requestRender();
  };
  const closing = new AbortController();
  let isStarted = false;
  // The terminal must work again after any error.
  const giveBack = (): void => {
    if (isStarted) tui.stop();
    isStarted = false;
  };
  const chat = await startChat({
    home,
    environment: io.environment,
    agent,
    kind: "terminal",
    config,
    plugins,
    onEvent: (event) => {
      shown.handleEvent(event);
      if (event.type === "ended" && event.end.outcome === "done") {
        const { session } = event;
        findChosenModel(commandContext.store, session)
          .then((model) =>
            proposeTitle({ agent, sessions, who: commandContext.who, model }, session, closing.signal),
          )
          .then(shown.refresh, () => {}); // a session works without a title
      }
    },
    notify: (text) => tell(text),
    onStoreLost: (text) => {
      giveBack();
      printNotice(io, `postrider: ${text}`);
    },
  });
  const { commandContext, talk } = chat;
  const { sessions } = commandContext;
  const shown = sessionScreen({
    commandContext,
    view,
    pending: waiting,
    status,
    render: (whole = false) => tui.requestRender(whole),
    addToHistory: (text) => editor.addToHistory(text),
  });

  async function say(text: string): Promise<void> {
    const said = await talk.submit(text);
    // The reset policy or another terminal may have started a new session.
    if (said.session.id !== shown.current()) await shown.draw(said.session);
    if (said.fresh?.noticeDue) tell(formatResetNotice(commandContext, said.fresh));
    shown.addPending(said.messageId, text);
    await shown.refresh();
    const answer = await said.answer;
    waiting.remove(said.messageId);
    if (answer === undefined) tell("*The message was cancelled before its turn.*");
    await shown.refresh();
  }

  async function command(name: string, args: string): Promise<void> {
    const found = getAllowedCommand(commandContext, name);
    const choices = (await found.listChoices?.(commandContext, args)) ?? [];
    if (choices.length === 0) return showReply(found.run(commandContext, args));
    const picked = parseCommand((await pick(`/${found.name} ${args}`.trim(), choices))?.line ?? "");
    if (picked !== undefined) await showReply(runChatCommand(commandContext, picked.name, picked.args));
  }

  function showReply(reply: Promise<CommandReply>): Promise<void> {
    return applyReply(commandContext, reply, {
      async onMoved() {
        const current = await talk.findCurrent();
        if (current !== undefined) await shown.draw(current.session);
      },
      async show(texts, { document }) {
        for (const text of texts) tell(text);
        if (document !== undefined) tell(saveDocument(document));
        await shown.refresh();
      },
      leave: () => keys.exit(0),
      submit: (text) => void say(text).catch(fail),
    });
  }

  /** Shows a list instead of the editor until the person picks an entry or cancels. */
  function pick(title: string, choices: readonly Choice[]): Promise<Choice | undefined> {
    return new Promise((resolve) => {
      const list = picker(title, choices, theme, (choice) => {
        arrange(editor);
        resolve(choice);
      });
      arrange(list);
    });
  }

  function arrange(input: Component): void {
    tui.clear();
    for (const component of [view, waiting, input, status]) tui.addChild(stabilizeLines(component));
    tui.setFocus(input);
    tui.requestRender();
  }

  let commands = Promise.resolve();
  editor.onSubmit = (text) => {
    if (text.trim() === "") return;
    const typed = parseCommand(text);
    editor.addToHistory(text);
    if (typed === undefined) say(unescapeSlash(text)).catch(fail);
    // /stop must not queue behind a command that waits for an answer. The others keep their order.
    else if (typed.name === "stop") command(typed.name, typed.args).catch(fail);
    else commands = commands.then(() => command(typed.name, typed.args)).catch(fail);
  };
  editor.setAutocompleteProvider(completion(commandContext));
  const keys = exitKeys({
    talk,
    editor,
    hint: (text) => status.showHint(text),
    render: () => tui.requestRender(),
  });
  // The system turns an Enter that was typed before raw mode into a line feed.
  let isTypedAhead = true;
  tui.addInputListener((data) => (isTypedAhead && data === "\n" ? { data: "\r" } : undefined));
  tui.addInputListener((data) => {
    if (matchesKey(data, "ctrl+c") && tui.getFocusedComponent() !== editor) return undefined;
    return keys.handleKey(data) ? { consume: true } : undefined;
  });

  const copies = startDailyCopies({ home, store: chat.store, runner: chat.runner, notice: tell });
  process.once("uncaughtExceptionMonitor", giveBack);
  process.once("exit", giveBack);
  try {
    const opened = await openChatSession(commandContext, startIn);
    arrange(editor);
    process.stdin.once("data", () => {
      setImmediate(() => {
        isTypedAhead = false;
      });
    });
    tui.start();
    isStarted = true;
    await shown.draw(opened.session);
    if (opened.fresh?.noticeDue) {
      tell(formatResetNotice(commandContext, opened.fresh));
      await sessions.markShown(opened.conversation.number, { notice: true });
    }
    for (const line of welcome) tell(line);
    if (hint !== undefined) tell(hint);
    if (opened.session.messageCount === 0)
      tell("Type a message. `/help` lists the commands; Ctrl-C twice exits.");
    talk.recover().catch(fail);
    return await keys.exitCode;
  } finally {
    closing.abort();
    shown.close();
    await copies.stop();
    await chat.close().finally(() => {
      giveBack();
      process.off("uncaughtExceptionMonitor", giveBack);
      process.off("exit", giveBack);
      keys.dispose();
    });
  }
}
