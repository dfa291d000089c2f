// Fork and undo: changing what a session shows, never what was said.
//
//   node --import ./examples/resolve.mjs examples/05-fork-and-undo.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessions, getText, OWNER, sqliteStore } from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const sessions = createSessions({ store });
const who = { person: OWNER };
const shown = async (id: string): Promise<string> =>
  ((await sessions.history(who, id)) ?? []).map(getText).join(" | ");

try {
  const { id } = await sessions.create(who, { title: "Story" });
  for (const text of ["Once upon a time", "there was a fox", "who ate a hen"])
    await sessions.append(who, id, [
      { role: "user", text },
      { role: "assistant", text: "…" },
    ]);

  // Undo takes the last question and its answer out of view; redo brings them back, until something is said.
  const { firstCut } = await sessions.undo(who, id);
  console.log(`undone: ${firstCut && getText(firstCut)}`);
  assert.equal(await shown(id), "Once upon a time | … | there was a fox | …");
  await sessions.redo(who, id);
  await sessions.undo(who, id);
  await sessions.append(who, id, { role: "user", text: "who grew grapes" });
  await assert.rejects(sessions.redo(who, id), { code: "nothing_to_redo" });

  // A fork shows the same and goes its own way. It costs a few numbers, whatever the length.
  const fork = await sessions.fork(who, id, { keep: 4 });
  await sessions.append(who, fork.id, { role: "user", text: "who learnt to fly" });
  assert.equal(fork.title, "Story #2");
  assert.equal(await shown(fork.id), "Once upon a time | … | there was a fox | … | who learnt to fly");

  // Compressing shows a summary instead, for a model with little room. Every shape is kept and can return.
  await sessions.compress(who, id, "A fox and its grapes.", { keepLast: 1 });
  assert.equal(await shown(id), "A fox and its grapes. | who grew grapes");
  for (const { version, kind, length } of await sessions.versions(who, id))
    console.log(`version ${version}: ${kind}, ${length} messages`);
  await sessions.restore(who, id, 0);
  assert.match(await shown(id), /who ate a hen/);

  // Nothing that was said is gone, and a fork outlives its origin.
  assert.equal((await sessions.messages(who, id))?.length, 8);
  await sessions.remove(who, id);
  assert.match(await shown(fork.id), /there was a fox/);

  // A session is plain JSON on request, and the same session again wherever that is imported.
  const file = JSON.stringify(await sessions.export(who, fork.id));
  await sessions.remove(who, fork.id);
  await sessions.import(JSON.parse(file));
  console.log(await shown(fork.id));
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
