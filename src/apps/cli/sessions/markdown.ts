import type { Message } from "../../../core/message.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Session } from "../../../core/session.ts";
import { bodyLines } from "../message-text.ts";
import { onOneLine } from "../printable.ts";
import { dateAndTime } from "../relative-time.ts";
import { headerLines } from "./header.ts";
import { nameOf } from "./rows.ts";

/** A session to read or to send to someone: what it shows, under headings. It cannot be imported again. */
export function markdownOf(session: Session, messages: readonly Message[], now: number): string {
  const you = session.owner === OWNER ? "You" : "User";
  const said = messages.flatMap((message) => {
    const names = {
      user: onOneLine(message.origin?.userName ?? you),
      assistant: "Assistant",
      tool: "Tool",
      note: "Note",
    };
    return [`## ${names[message.role]}, ${dateAndTime(message.at)}`, "", ...bodyLines(message), ""];
  });
  const about = headerLines(session, now, messages.length).map((line) => `    ${line}`);
  return `${[`# ${nameOf(session)}`, "", ...about, "", ...said].join("\n").trimEnd()}\n`;
}
