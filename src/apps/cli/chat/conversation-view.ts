import { type Component, Container, Markdown, Spacer, Text } from "@earendil-works/pi-tui";
import { escapeMarkdown } from "../../../commands/command.ts";
import { getText, type Message } from "../../../core/message.ts";
import { toPrintable } from "../../../core/printable.ts";
import { markdownChunks } from "./markdown-chunks.ts";
import type { Theme } from "./theme.ts";
import { formatToolCall, formatToolResult } from "./tool-lines.ts";

/** The messages and notices of a conversation, from top to bottom. */
export interface ConversationView extends Component {
  clear(): void;
  showMessage(message: Message): void;
  /** Shows the reply of a command or a notice: Markdown that is not a message. */
  showMarkdown(markdown: string): void;
  showError(sentence: string): void;
  /** Shows one line about a tool call. */
  showRemark(text: string): void;
  /** Starts an answer in progress. It stays invisible until its first text. */
  startAnswer(): { add(text: string): void; end(remark?: string): void };
}

/** Text up to this length is formatted as Markdown; the rest is shown as plain text. */
const MAX_FORMATTED = 32_000;
/** Text up to this length is shown, because each frame costs time for every line. */
const MAX_SHOWN = 100_000;

export function conversationView(theme: Theme): ConversationView {
  const container = new Container();
  const add = (component: Component): void => {
    container.addChild(component);
    container.addChild(new Spacer(1));
  };
  const plain = (text: string): Text => new Text(toPrintable(text), 1, 0);
  const remark = (text: string): void =>
    add(new Text(theme.dim(toPrintable(text.slice(0, MAX_FORMATTED))), 1, 0));

  /** Markdown that grows: complete chunks stay, only the last one is rendered again. */
  function growingMarkdown(): { add(text: string): void; end(): void } {
    const pieces = markdownChunks();
    let last: Markdown | Text | undefined;
    let [formatted, given] = [0, 0];
    const show = (piece: string): void => {
      if (last !== undefined) last.setText(toPrintable(piece));
      else {
        last =
          formatted < MAX_FORMATTED ? new Markdown(toPrintable(piece), 1, 0, theme.markdown) : plain(piece);
        container.addChild(last);
      }
    };
    return {
      add(text) {
        const room = Math.max(0, MAX_SHOWN - given);
        given += text.length;
        if (room === 0) return;
        const { whole, growing } = pieces.add(text.slice(0, room));
        for (const piece of whole) {
          show(piece);
          formatted += piece.length;
          last = undefined;
        }
        if (growing !== "") show(growing);
      },
      end() {
        if (given > 0) container.addChild(new Spacer(1));
        if (given > MAX_SHOWN)
          remark(
            `… ${(given - MAX_SHOWN).toLocaleString("en-US")} more characters; /export saves all of them.`,
          );
      },
    };
  }

  const markdown = (text: string): void => {
    const shown = growingMarkdown();
    shown.add(text);
    shown.end();
  };
  return {
    render: (width) => container.render(width),
    invalidate: () => container.invalidate(),
    clear: () => container.clear(),
    showMessage(message) {
      const said = getText(message);
      if (message.role === "user" && message.origin?.proactive) remark(said);
      else if (message.role === "user")
        add(new Text(`${theme.accent("›")} ${theme.bold(toPrintable(said.slice(0, MAX_SHOWN)))}`, 0, 0));
      else if (message.role === "assistant" && said !== "") markdown(said);
      else if (message.role === "tool") remark(formatToolResult(message.parts));
      else if (said !== "") remark(`${message.role}: ${said.slice(0, 500)}`);
      for (const line of describeExtras(message)) remark(line);
    },
    showMarkdown: markdown,
    showRemark: remark,
    showError: (sentence) => add(new Text(theme.warning(toPrintable(sentence)), 1, 0)),
    startAnswer() {
      const growing = growingMarkdown();
      return {
        add: growing.add,
        end(text) {
          growing.end();
          if (text !== undefined) remark(text);
        },
      };
    },
  };
}

/** The parts of a message that are not text. */
function describeExtras(message: Message): string[] {
  const calls = (message.toolCalls ?? []).map(formatToolCall);
  const parts = message.parts.flatMap((part) => {
    if (part.type === "text") return [];
    return [part.type === "resource" ? part.uri : `${part.type}: ${part.name ?? part.mimeType}`];
  });
  return [...calls, ...parts, ...(message.origin?.interrupted === true ? ["(stopped)"] : [])];
}

export function formatHeading(title: string | undefined, handle: string): string {
  return `**${title === undefined ? "Postrider" : escapeMarkdown(title)}** · session \`${handle}\``;
}
