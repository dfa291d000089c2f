// Search and titles: finding what was said, and naming where.
//
//   node --import ./examples/resolve.mjs examples/04-search-and-titles.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessions, OWNER, PostriderError, sessionToJson, sqliteStore } from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const sessions = createSessions({ store });
const who = { person: OWNER };

try {
  // A session that belongs to no chat is made by hand and addressed by its id.
  const proxy = await sessions.create(who, { title: "Proxy" });
  await sessions.append(who, proxy.id, [
    { role: "user", text: "How do I put nginx in front of the app?" },
    { role: "assistant", text: "With a reverse proxy: one server block." },
  ]);
  const travel = await sessions.create(who);
  await sessions.append(who, travel.id, { role: "user", text: "明日は東京で会議があります" });

  // What was said is found at once, with its neighbours, in any script, and no query is an error.
  const [hit] = await sessions.search(who, "nginx");
  console.log(`${hit?.title}: ${hit?.snippet}`);
  assert.equal(hit?.after?.text, "With a reverse proxy: one server block.");
  assert.equal((await sessions.search(who, "東京"))[0]?.session, travel.id);
  assert.equal((await sessions.search(who, '"reverse proxy" OR xyz*')).length, 1);
  assert.deepEqual(await sessions.search(who, 'AND ("'), []);

  // A title is yours alone. A proposed one never fails: it takes the next number.
  await assert.rejects(sessions.title(who, travel.id, "Proxy"), (error) => {
    assert.ok(error instanceof PostriderError && error.code === "title_taken");
    console.log(error.message);
    return true;
  });
  const numbered = await sessions.autoTitle(who, travel.id, 'Title: "Proxy"');
  assert.equal(numbered.title, "Proxy #2");

  // The bare title means the newest of its line; a number means that one.
  assert.equal((await sessions.findByTitle(who, "Proxy"))?.id, travel.id);
  await sessions.title(who, travel.id, "Tokyo");
  assert.equal((await sessions.findByTitle(who, "Proxy"))?.id, proxy.id);

  // Lists come newest first, in pages, as values or as JSON.
  await sessions.recordUsage(who, proxy.id, { inputTokens: 20, outputTokens: 12, model: "some-model" });
  const { items } = await sessions.list(who, { titled: true, limit: 10 });
  for (const session of items) {
    const { handle, title, preview, message_count, total_tokens } = sessionToJson(session);
    console.log(handle, title, preview, message_count, total_tokens);
  }
  assert.deepEqual(items.map(({ title }) => title).sort(), ["Proxy", "Tokyo"]);
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
