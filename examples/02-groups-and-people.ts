// Groups and people: who shares a conversation, and who may see what.
//
//   node --import ./examples/resolve.mjs examples/02-groups-and-people.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Asker,
  createSessions,
  describeSource,
  getChatAudience,
  type Source,
  source,
  sqliteStore,
} from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });

const inGroup = (userId: string): Source =>
  source({ platform: "telegram", chatId: -100, chatType: "group", chatName: "Dev", userId });

try {
  // By default everyone in a group has a conversation of their own ...
  const apart = createSessions({ store });
  const ann = await apart.open(inGroup("ann"));
  const bob = await apart.open(inGroup("bob"));
  console.log(`${describeSource(inGroup("ann"))}: ${ann.conversation.key} and ${bob.conversation.key}`);
  assert.notEqual(ann.session.id, bob.session.id);

  // ... unless a platform's groups are to share one. It belongs to the chat, so whoever speaks there sees it.
  const together = createSessions({ store, scope: { byPlatform: { discord: { groupsPerUser: false } } } });
  const guild = (userId: string): Source =>
    source({ platform: "discord", chatId: "guild", chatType: "group", userId });
  const shared = await together.open(guild("ann"));
  assert.equal((await together.open(guild("bob"))).session.id, shared.session.id);
  assert.equal(shared.session.owner, getChatAudience(guild("ann")));

  // A person is behind an account, and owns what is said with it. Every question says who asks.
  const annHerself: Asker = { person: ann.session.owner };
  const bobHimself: Asker = { person: bob.session.owner };
  await apart.append(annHerself, ann.session.id, { role: "user", text: "My salary is a secret." });
  assert.equal((await apart.history(annHerself, ann.session.id))?.length, 1);
  assert.equal(await apart.history(bobHimself, ann.session.id), undefined); // as if there were none
  assert.deepEqual(await apart.search(bobHimself, "salary"), []);

  // Where others read along, only what was said there may be shown: what Ann said alone is not.
  const alone = await apart.open({ platform: "telegram", chatId: "ann", userId: "ann" });
  assert.equal(alone.session.owner, ann.session.owner); // the same person
  const annInTheGroup: Asker = { person: ann.session.owner, chat: getChatAudience(inGroup("ann")) ?? "" };
  assert.equal((await apart.list(annHerself)).items.length, 2);
  assert.equal((await apart.list(annInTheGroup)).items.length, 1);
  await assert.rejects(apart.switchTo(annInTheGroup, ann.conversation.number, alone.session.id), {
    code: "not_allowed",
  });
  console.log("What Ann says alone stays with Ann.");
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
