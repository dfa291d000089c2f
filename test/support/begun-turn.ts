import { textPart } from "../../src/core/message.ts";
import type { Turn } from "../../src/core/turn.ts";
import { buildRouting, DEFAULT_RESET_POLICY, localRunner, localSource } from "../../src/index.ts";
import type { Home } from "./test-home.ts";

let numbers = 0;

/** Starts a turn of the terminal without an agent. */
export async function begunTurn({ store, clock }: Home, words = "tidy up"): Promise<Turn> {
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  numbers += 1;
  const reset = { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} };
  const accepted = await store.inbox.accept({
    ...buildRouting(localSource(), { zone: "UTC", profile: "main", reset, scope: {}, clock }),
    messageId: `begun-${numbers}`,
    message: { role: "user", parts: [textPart(words)] },
    claim: { runner: runner.id, take: "one" },
  });
  if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
    throw new Error("the turn was not started");
  return accepted.turn;
}
