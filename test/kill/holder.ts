/** Starts a turn and then does nothing. */
import { buildRouting, localRunner, sqliteStore } from "../../src/index.ts";
import { say, told } from "../support/child.ts";
import { settings } from "../support/routing.ts";

export interface Holding {
  readonly pid: number;
  readonly session: string;
  readonly turn: number;
}

const [file = ""] = process.argv.slice(2);
const store = await sqliteStore({ file });
const runner = localRunner();
await store.runners.recordHeartbeat({ runner, now: Date.now() });
const accepted = await store.inbox.accept({
  ...buildRouting({ platform: "telegram", chatId: "7", userId: "7" }, settings),
  messageId: "1",
  message: { role: "user", parts: [{ type: "text", text: "hello" }] },
  claim: { runner: runner.id, take: "one" },
});
if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
  throw new Error("the session was not free");
say({ pid: process.pid, session: accepted.session.id, turn: accepted.turn.number } satisfies Holding);
for await (const _line of told()) break;
