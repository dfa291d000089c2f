/** 64 sessions run turns without pause until they are stopped. Reports the acknowledged turns. */
import { buildRouting, localRunner, sqliteStore, throwIfRefused } from "../../src/index.ts";
import { say, told } from "../support/child.ts";
import { settings } from "../support/routing.ts";

export const SESSIONS = 64;

export type SaidByTalker =
  | { readonly step: "running" }
  /** All turns that were acknowledged at the time of the request. */
  | { readonly step: "so far"; readonly finished: readonly number[] }
  | { readonly step: "stopped"; readonly finished: readonly number[] };

const [file = ""] = process.argv.slice(2);
const store = await sqliteStore({ file });
const runner = localRunner();
await store.runners.recordHeartbeat({ runner, now: Date.now() });
/** Finished turns of each session. */
const finished = Array.from({ length: SESSIONS }, () => 0);
let stopping = false;

async function talk(chat: number): Promise<void> {
  for (let number = 1; !stopping; number += 1) {
    const messageId = `${chat}-${number}`;
    const accepted = await store.inbox.accept({
      ...buildRouting({ platform: "telegram", chatId: chat + 1, userId: chat + 1 }, settings),
      messageId,
      message: { role: "user", parts: [{ type: "text", text: `question ${messageId}` }] },
      cursor: { name: "last", value: messageId },
      claim: { runner: runner.id, take: "one" },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("the turn did not begin");
    const { number: turn, fence, target } = accepted.turn;
    const parts = [{ type: "text" as const, text: `answer ${messageId} ${"y".repeat(300)}` }];
    throwIfRefused(
      await store.turns.finish({
        turn,
        fence,
        outcome: "done",
        messages: [{ role: "assistant", parts }],
        deliveries: [{ target, parts }],
        now: Date.now(),
      }),
    );
    finished[chat] = number;
  }
}

const talking = Promise.all(Array.from({ length: SESSIONS }, (_, chat) => talk(chat)));
const enough = setInterval(() => {
  if (finished.some((count) => count < 60)) return;
  clearInterval(enough);
  say({ step: "running" } satisfies SaidByTalker);
}, 10);
for await (const line of told<string>()) {
  if (line === "how far?") say({ step: "so far", finished: [...finished] } satisfies SaidByTalker);
  else break;
}
stopping = true;
await talking;
say({ step: "stopped", finished } satisfies SaidByTalker);
await store.runners.retire({ runner: runner.id });
await store.close();
process.exit(0);
