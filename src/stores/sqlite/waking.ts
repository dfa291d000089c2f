import { PostriderError } from "../../core/errors.ts";
import type { Source } from "../../core/source.ts";
import type { Wake, Woken } from "../../ports/processes.ts";
import type { Db } from "./connection.ts";
import { seenBefore } from "./inbox.ts";
import { requireObject } from "./json-columns.ts";
import { freshOf, sessionRow } from "./routing.ts";
import type { ConversationRow } from "./rows.ts";
import * as sql from "./sql.ts";
import { type Arrival, claimAtOnce, isFree, wait } from "./turns.ts";

interface ProcessRow {
  n: number;
  session: number;
  conversation: number;
  target: string;
  state: string;
  told_end: number;
}

/** Like `accept`, but nobody speaks: neither is the conversation in use by it, nor does the reset policy have a say. */
export function wake(db: Db, { process: id, message, claim, now }: Wake): Woken {
  const process = db.get<ProcessRow>(sql.processToTell, id);
  if (process === undefined || process.told_end === 1) return { state: "told" };
  if (process.state !== "ended")
    throw new PostriderError("invalid_input", `The process ${id} has not ended, so its end cannot be told.`);
  const conversation = db.get<ConversationRow>(sql.conversationByNumber, process.conversation);
  // One that has expired will point to a new session as soon as somebody speaks.
  if (conversation === undefined || conversation.session !== process.session || conversation.expired !== null)
    return { state: "elsewhere" };

  const session = sessionRow(db, process.session);
  const arrival: Arrival = {
    profile: conversation.profile,
    source: requireObject<Source>(process.target, { table: "processes", column: "target", row: id }),
    messageId: `process:${id}`,
    message: { ...message, origin: { ...message.origin, proactive: true } },
    claim,
    now,
  };
  db.run(sql.endTold, now, process.n);
  if (seenBefore(db, arrival) !== undefined) return { state: "told" };
  if (!isFree(db, session, claim, now)) {
    wait(db, arrival, conversation, session);
    return { state: "woken", session: session.id };
  }
  const { turn } = claimAtOnce(db, arrival, claim, conversation, session, freshOf(db, conversation));
  return { state: "woken", session: session.id, turn };
}
