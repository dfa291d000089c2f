// Turns on the store itself, for an application that has its own loop: accept, answer, finish. Each step is one commit, and a
// second process can hold no turn of the same session meanwhile.
//
//   node --import ./examples/resolve.mjs examples/12-turns-on-the-store.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  buildRouting,
  DEFAULT_RESET,
  KEPT_OUTPUT,
  localRunner,
  sqliteStore,
  systemClock,
  systemZone,
  throwIfRefused,
} from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const clock = systemClock;
const settings = { clock, zone: systemZone(), profile: "main", reset: DEFAULT_RESET, scope: {} };
const text = (words: string) => [{ type: "text", text: words }] as const;

try {
  // This process can hold turns, as long as it sends heartbeats.
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });

  // Accept: stored, deduplicated and, because the session is free, claimed.
  const accept = (messageId: string, words: string) =>
    store.inbox.accept({
      ...buildRouting({ platform: "shop", chatId: "7", userId: "7" }, settings),
      messageId,
      message: { role: "user", parts: text(words) },
      claim: { runner: runner.id, take: "one" },
    });
  const accepted = await accept("m1", "Where is my parcel?");
  assert.equal((await accept("m1", "Where is my parcel?")).duplicate, true);
  assert.ok(!accepted.duplicate && accepted.tooMany === undefined && accepted.turn !== undefined);
  const { turn } = accepted;

  // A message that arrives meanwhile waits. Nobody else can claim the session.
  await accept("m2", "It is red.");
  const claim = { session: turn.session, runner: runner.id, take: "one", now: clock.now() } as const;
  assert.equal(await store.turns.claim(claim), undefined);

  // Finish: the answer is stored, the lease is free, and the next message becomes the next turn, in one commit.
  const { next } = throwIfRefused(
    await store.turns.finish({
      turn: turn.number,
      fence: turn.fence,
      outcome: "done",
      messages: [{ role: "assistant", parts: text("On its way.") }],
      next: { runner: runner.id, take: "one" },
      now: clock.now(),
    }),
  );
  assert.equal(next?.session, turn.session);
  console.log(`turn ${turn.number} is done, turn ${next?.number} runs`);
  console.log(
    `of each background process the last ${KEPT_OUTPUT.toLocaleString("en-US")} characters are kept`,
  );
  await store.runners.retire({ runner: runner.id });
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
