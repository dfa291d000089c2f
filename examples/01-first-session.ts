// A first session: say something, stop the program, come back, and it is all there.
//
//   node --import ./examples/resolve.mjs examples/01-first-session.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createSessions,
  getText,
  localSource,
  NO_RESET,
  OWNER,
  providerHistory,
  sqliteStore,
} from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const who = { person: OWNER }; // the person whose home this is

/** One run of a program: it opens the file, talks, and closes it. */
async function run(text: string): Promise<string[]> {
  // One file holds everything. A program that lives only a moment needs no threads of its own.
  const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
  const sessions = createSessions({ store });

  // The terminal's conversation: made at first contact, found again ever after. With NO_RESET it goes on for
  // ever; example 03 shows what happens otherwise.
  const { session, created } = await sessions.open(localSource(), { policy: NO_RESET });
  console.log(
    `${created ? "new" : "known"} session ${session.handle}: ${session.messageCount} messages so far`,
  );

  await sessions.append(who, session.id, { role: "user", text });
  // Here a model would answer. `providerHistory` is what it should be given: every tool call has its result.
  const history = providerHistory((await sessions.history(who, session.id)) ?? []);
  const answer = `Messages from you so far: ${history.filter(({ role }) => role === "user").length}`;
  await sessions.append(who, session.id, { role: "assistant", text: answer });

  const shown = (await sessions.history(who, session.id)) ?? [];
  await store.close();
  return shown.map(getText);
}

try {
  assert.deepEqual(await run("Good morning."), ["Good morning.", "Messages from you so far: 1"]);
  const remembered = await run("Do you remember me?");
  assert.equal(remembered[0], "Good morning.");
  assert.equal(remembered.at(-1), "Messages from you so far: 2");
  console.log(remembered.join("\n"));
} finally {
  await rm(folder, { recursive: true });
}
