// Resets and notices: when a conversation starts afresh, who is told, and the way back.
//
//   node --import ./examples/resolve.mjs examples/03-resets-and-notices.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Clock,
  createSessions,
  nextReset,
  resetNote,
  resetNotice,
  resetSettingsFromJson,
  sqliteStore,
  systemClock,
} from "postrider";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });

// Time is an argument. Here it stands still at 22:00 until we move it.
let now = Date.UTC(2026, 2, 15, 22);
const clock: Clock = { ...systemClock, now: () => now };

// As a configuration file would say it: telegram starts afresh after two silent hours, all others daily at 4.
const reset = resetSettingsFromJson({
  mode: "daily",
  at_hour: 4,
  by_platform: { telegram: { mode: "idle", idle_minutes: 120 } },
});
const sessions = createSessions({ store, clock, zone: "UTC", reset });
const from = { platform: "telegram", chatId: "7", userId: "7" };
const policy = reset.byPlatform.telegram ?? reset.default;

try {
  const first = await sessions.open(from);
  const who = { person: first.session.owner };
  await sessions.append(who, first.session.id, { role: "user", text: "The build is red." });
  const next = nextReset(first.conversation.activeAt, policy, "UTC");
  console.log(`If nothing more is said, this ends at ${new Date(next?.at ?? 0).toISOString()}.`);

  now += 3 * 3600_000;
  const second = await sessions.open(from);
  assert.notEqual(second.session.id, first.session.id);
  assert.equal(second.fresh?.reason, "idle");

  // The model is told once, and so is the person, with the line that leads back.
  if (second.fresh?.noteDue) console.log(`to the model:  ${resetNote(second.fresh.reason)}`);
  if (second.fresh?.noticeDue) {
    const { reason, previous } = second.fresh;
    console.log(`to the person: ${resetNotice({ ...policy, reason, handle: previous.handle })}`);
  }
  await sessions.markShown(second.conversation.number, { note: true, notice: true });
  assert.equal((await sessions.open(from)).fresh, undefined); // told once, even after a restart

  // Nothing was lost: the person types `/resume <handle>`.
  const found = await sessions.find(who, second.fresh?.previous.handle ?? "");
  const back = await sessions.switchTo(who, second.conversation.number, found?.id ?? "");
  assert.equal(back?.session.id, first.session.id);

  // Work that nobody sees can keep a conversation open.
  await sessions.hold(who, first.session.id, "nightly build", 8 * 3600_000);
  now += 5 * 3600_000;
  assert.equal((await sessions.open(from)).session.id, first.session.id);
  const [why] = await sessions.decisions(who, first.conversation.number);
  console.log(`Not reset: ${why?.reason}.`);
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
