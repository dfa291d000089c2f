import { PostriderError } from "../../core/errors.ts";
import type { Source } from "../../core/source.ts";
import type { WakeRequest, WakeResult } from "../../ports/process-store.ts";
import type { Db } from "./db.ts";
import { findDuplicate } from "./inbox.ts";
import { requireObject } from "./json-columns.ts";
import { getSessionRow, readFresh } from "./routing.ts";
import type { ConversationRow } from "./rows.ts";
import { conversationByNumberSql } from "./statements/conversations.ts";
import { markProcessEndReportedSql, processToReportSql } from "./statements/processes.ts";
import { claimImmediately, type InboundInput, isSessionFree, queueInbound } from "./turns.ts";

interface EndedProcessRow {
  n: number;
  session: number;
  conversation: number;
  target: string;
  state: string;
  told_end: number;
}

/** Like `accept`, but without a message of a person: it is no activity of the conversation, and causes no reset. */
export function wakeAgent(db: Db, { process: id, message, claim, now }: WakeRequest): WakeResult {
  const process = db.get<EndedProcessRow>(processToReportSql, id);
  if (process === undefined || process.told_end === 1) return { state: "told" };
  if (process.state !== "ended")
    throw new PostriderError(
      "invalid_input",
      `The process ${id} has not ended, so its end cannot be reported.`,
    );
  const conversation = db.get<ConversationRow>(conversationByNumberSql, process.conversation);
  // An expired conversation gets a new session with the next message.
  if (conversation === undefined || conversation.session !== process.session || conversation.expired !== null)
    return { state: "elsewhere" };

  const session = getSessionRow(db, process.session);
  const inbound: InboundInput = {
    profile: conversation.profile,
    source: requireObject<Source>(process.target, { table: "processes", column: "target", row: id }),
    messageId: `process:${id}`,
    message: { ...message, origin: { ...message.origin, proactive: true } },
    claim,
    now,
  };
  db.send(markProcessEndReportedSql, now, process.n);
  if (findDuplicate(db, inbound) !== undefined) return { state: "told" };
  if (!isSessionFree(db, session, claim, now)) {
    queueInbound(db, inbound, conversation, session);
    return { state: "woken", session: session.id };
  }
  const { turn } = claimImmediately(db, inbound, claim, conversation, session, readFresh(db, conversation));
  return { state: "woken", session: session.id, turn };
}
