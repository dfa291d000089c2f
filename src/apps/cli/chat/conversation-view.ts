import { type Component, Container, Markdown, Spacer, Text } from "@earendil-works/pi-tui";
import { type Message, textOf } from "../../../core/message.ts";
import { printable } from "../../../core/printable.ts";
import { escaped } from "../../../gateway/commands/command.ts";
import type { Theme } from "./theme.ts";
import { callLine, resultLines } from "./tool-lines.ts";

/** What was said and what was told about it, one under the other. */
export interface ConversationView extends Component {
  clear(): void;
  message(message: Message): void;
  /** A reply of a command, a notice: Markdown that nobody said. */
  tell(markdown: string): void;
  fail(sentence: string): void;
  /** What a tool does, in a few words. */
  remark(text: string): void;
  /** An answer that grows; nothing is to be seen of it before its first words. */
  answer(): { add(text: string): void; end(remark?: string): void };
}

export function conversationView(theme: Theme): ConversationView {
  const container = new Container();
  const add = (component: Component): void => {
    container.addChild(component);
    container.addChild(new Spacer(1));
  };
  const markdown = (text: string): Markdown => new Markdown(printable(text), 1, 0, theme.markdown);
  const remark = (text: string): void => add(new Text(theme.dim(printable(text)), 1, 0));
  return {
    render: (width) => container.render(width),
    invalidate: () => container.invalidate(),
    clear: () => container.clear(),
    message(message) {
      const said = textOf(message);
      if (message.role === "user" && message.origin?.proactive) remark(said);
      else if (message.role === "user")
        add(new Text(`${theme.accent("›")} ${theme.bold(printable(said))}`, 0, 0));
      else if (message.role === "assistant" && said !== "") add(markdown(said));
      else if (message.role === "tool") remark(resultLines(message.parts));
      else if (said !== "") remark(`${message.role}: ${said.slice(0, 500)}`);
      for (const line of beside(message)) remark(line);
    },
    tell: (text) => add(markdown(text)),
    remark,
    fail: (sentence) => add(new Text(theme.warning(printable(sentence)), 1, 0)),
    answer() {
      let said = "";
      let growing: Markdown | undefined;
      return {
        add(text) {
          said += text;
          if (growing !== undefined) growing.setText(printable(said));
          else {
            growing = markdown(said);
            container.addChild(growing);
          }
        },
        end(text) {
          if (growing !== undefined) container.addChild(new Spacer(1));
          if (text !== undefined) remark(text);
        },
      };
    },
  };
}

/** What a message has besides its words. */
function beside(message: Message): string[] {
  const calls = (message.toolCalls ?? []).map(callLine);
  const parts = message.parts.flatMap((part) => {
    if (part.type === "text") return [];
    return [part.type === "resource" ? part.uri : `${part.type}: ${part.name ?? part.mimeType}`];
  });
  return [...calls, ...parts, ...(message.origin?.interrupted === true ? ["(stopped)"] : [])];
}

export function heading(title: string | undefined, handle: string): string {
  return `**${title === undefined ? "Postrider" : escaped(title)}** · session \`${handle}\``;
}
