import type { RunnerRequests } from "../../core/runner.ts";
import type { Db } from "./db.ts";
import type { ConversationRow, SessionRow } from "./rows.ts";
import { conversationByNumberSql } from "./statements/conversations.ts";
import { drainRequestedSql, requestDrainSql } from "./statements/runners.ts";
import { sessionByIdSql } from "./statements/sessions.ts";
import { requestStopSql, runningTurnSql, stopRequestsSql } from "./statements/turns.ts";

export function requestStop(db: Db, input: { conversation: number; now: number }): boolean {
  const conversation = db.get<ConversationRow>(conversationByNumberSql, input.conversation);
  return (
    conversation !== undefined && db.run(requestStopSql, input.now, conversation.session, conversation.n) > 0
  );
}

export function requestDrain(db: Db, input: { runner: string; now: number }): boolean {
  return db.run(requestDrainSql, input.now, input.runner) > 0;
}

export function getRequests(db: Db, { runner }: { runner: string }): RunnerRequests {
  return {
    stopTurns: db.all<{ n: number }>(stopRequestsSql, runner).map(({ n }) => n),
    drain: db.get(drainRequestedSql, runner) !== undefined,
  };
}

export function isSessionAnswering(db: Db, input: { session: string }): boolean {
  const session = db.get<SessionRow>(sessionByIdSql, input.session);
  return session !== undefined && db.get(runningTurnSql, session.n) !== undefined;
}
