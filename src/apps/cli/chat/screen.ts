import { type Component, Editor, matchesKey, ProcessTerminal, TuiMainScreen } from "@earendil-works/pi-tui";
import { around } from "../../../commands/around.ts";
import type { Choice, Reply } from "../../../commands/command.ts";
import { commandFor, runChatCommand } from "../../../commands/table.ts";
import { parseCommand, spokenText } from "../../../core/command-grammar.ts";
import type { Agent } from "../../../ports/agent.ts";
import { chosenModel } from "../../../turns/chosen-model.ts";
import { proposeTitle } from "../../../turns/propose-title.ts";
import type { Config } from "../../config/config.ts";
import { startDailyCopies } from "../../daily-copies.ts";
import { saveDocument } from "../../save-document.ts";
import { hasColor, type Io, note } from "../io.ts";
import { readyHome } from "../opening.ts";
import { completion } from "./completion.ts";
import { conversationView } from "./conversation-view.ts";
import { leaveKeys } from "./leave-keys.ts";
import { picker } from "./picker.ts";
import { noticeOf } from "./pipe.ts";
import { sessionScreen } from "./session-screen.ts";
import { type Beginning, begin, startChat } from "./start.ts";
import { statusLine } from "./status-line.ts";
import { withSteadyLines } from "./steady-line.ts";
import { themeOf } from "./theme.ts";
import { waitingView } from "./waiting-view.ts";

/** The chat on a terminal: what was said above, an editor and a status line below. Resolves with the exit code. */
export async function screen(
  io: Io,
  beginning: Beginning,
  agent: Agent,
  config: Config | undefined,
  hint?: string,
): Promise<number> {
  const welcome: string[] = [];
  const home = readyHome(io, (line) => welcome.push(line));
  const theme = themeOf(hasColor(io));
  const view = conversationView(theme);
  const waiting = waitingView(theme);
  const status = statusLine(theme);
  const tui = new TuiMainScreen(new ProcessTerminal());
  const editor = new Editor(tui, theme.editor);
  const tell = (markdown: string): void => {
    view.tell(markdown);
    tui.requestRender();
  };
  const fail = (error: unknown): void => {
    view.fail((error as Error).message);
    tui.requestRender();
  };
  const closing = new AbortController();
  let isStarted = false;
  // Whatever breaks, the person gets a terminal back that they can type in.
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
    heard: (event) => {
      shown.heard(event);
      if (event.type === "ended" && event.end.outcome === "done") {
        const { session } = event;
        chosenModel(place.store, session)
          .then((model) => proposeTitle({ agent, sessions, who: place.who, model }, session, closing.signal))
          .then(shown.refresh, () => {}); // a conversation without a title is found all the same
      }
    },
    notice: (text) => tell(text),
    lost: (text) => {
      giveBack();
      note(io, `postrider: ${text}`);
    },
  });
  const { place, talk } = chat;
  const { sessions } = place;
  const shown = sessionScreen({
    place,
    view,
    waiting,
    status,
    render: (whole = false) => tui.requestRender(whole),
    remember: (text) => editor.addToHistory(text),
  });

  async function say(text: string): Promise<void> {
    const said = await talk.say(text);
    // The policy, or another terminal, has begun a new session since.
    if (said.session.id !== shown.current()) await shown.draw(said.session);
    if (said.fresh?.noticeDue) tell(noticeOf(place, said.fresh));
    shown.accepted(said.messageId, text);
    await shown.refresh();
    const answer = await said.answer;
    waiting.remove(said.messageId);
    if (answer === undefined) tell("*That message was cancelled before its turn.*");
    await shown.refresh();
  }

  async function command(name: string, args: string): Promise<void> {
    const found = commandFor(place, name);
    const choices = (await found.choose?.(place, args)) ?? [];
    if (choices.length === 0) return heed(await found.run(place, args));
    const picked = parseCommand((await pick(`/${found.name} ${args}`.trim(), choices))?.line ?? "");
    if (picked !== undefined) await heed(await runChatCommand(place, picked.name, picked.args));
  }

  async function heed(reply: Reply): Promise<void> {
    const now = reply.moved ? await talk.look() : undefined;
    if (now !== undefined) await shown.draw(now.session);
    if (reply.text !== "") tell(reply.text);
    if (reply.around !== undefined) tell(await around(place, reply.around));
    if (reply.document !== undefined) tell(saveDocument(reply.document));
    await shown.refresh();
    if (reply.leave) keys.leave(0);
    if (reply.say !== undefined) say(reply.say).catch(fail);
  }

  /** A list takes the editor's place until something is picked or it is left. */
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
    for (const component of [view, waiting, input, status]) tui.addChild(withSteadyLines(component));
    tui.setFocus(input);
    tui.requestRender();
  }

  let commands = Promise.resolve();
  editor.onSubmit = (text) => {
    if (text.trim() === "") return;
    const typed = parseCommand(text);
    editor.addToHistory(text);
    if (typed === undefined) say(spokenText(text)).catch(fail);
    // /stop must not wait for a command that waits for an answer; the others keep their order.
    else if (typed.name === "stop") command(typed.name, typed.args).catch(fail);
    else commands = commands.then(() => command(typed.name, typed.args)).catch(fail);
  };
  editor.setAutocompleteProvider(completion(place));
  const keys = leaveKeys({
    talk,
    editor,
    hint: (text) => status.hint(text),
    render: () => tui.requestRender(),
  });
  // What was typed before the terminal was ours has its Enter changed to a line feed by the system.
  let isTypedAhead = true;
  tui.addInputListener((data) => (isTypedAhead && data === "\n" ? { data: "\r" } : undefined));
  tui.addInputListener((data) => {
    if (matchesKey(data, "ctrl+c") && tui.getFocusedComponent() !== editor) return undefined;
    return keys.pressed(data) ? { consume: true } : undefined;
  });

  const copies = startDailyCopies({ home, store: chat.store, runner: chat.runner, notice: tell });
  process.once("uncaughtExceptionMonitor", giveBack);
  process.once("exit", giveBack);
  try {
    const opened = await begin(place, beginning);
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
      tell(noticeOf(place, opened.fresh));
      await sessions.markShown(opened.conversation.number, { notice: true });
    }
    for (const line of welcome) tell(line);
    if (hint !== undefined) tell(hint);
    if (opened.session.messageCount === 0)
      tell("Say something. `/help` lists the commands; Ctrl-C twice leaves.");
    talk.recover().catch(fail);
    return await keys.left;
  } finally {
    closing.abort();
    shown.close();
    await copies.stop();
    await chat.close().finally(() => {
      giveBack();
      process.off("uncaughtExceptionMonitor", giveBack);
      process.off("exit", giveBack);
      keys.forget();
    });
  }
}
