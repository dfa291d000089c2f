// Sessions of an editor: addressed by id, each with a folder and an agent of its own, saved as a whole after each turn.
//
//   node --import ./examples/resolve.mjs examples/13-editor-sessions.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessions, editorSessions, getText, sqliteStore } from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const editor = editorSessions({
  sessions: createSessions({ store }),
  makeAgent: ({ id, cwd }) => ({ id, cwd }),
});

try {
  const { id, agent } = await editor.create({ cwd: "/work/letters" });
  assert.deepEqual(agent, { id, cwd: "/work/letters" });
  const first = [
    { role: "user", text: "Sort these letters." },
    { role: "assistant", text: "Sorted." },
  ] as const;
  await editor.save(id, first);
  // The person edits the question. The new course is shown, and the old one is kept.
  await editor.save(id, [{ role: "user", text: "Sort these letters by town." }]);
  assert.deepEqual((await editor.history(id))?.map(getText), ["Sort these letters by town."]);
  console.log((await editor.list({ cwd: "/work/letters" })).items.length, "session in /work/letters");
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
