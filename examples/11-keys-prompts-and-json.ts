// The pure parts of the library: who shares a conversation, what the model is told, and the JSON that files and scripts use.
// None of them reads a clock or a disk.
//
//   node --import ./examples/resolve.mjs examples/11-keys-prompts-and-json.ts

import assert from "node:assert/strict";
import {
  addUsage,
  applyMemoryChange,
  buildIdentity,
  buildSessionContext,
  canSee,
  contextPrompt,
  DEFAULT_RESET_POLICY,
  emptyUsage,
  firstMessageNote,
  getMemoryOwner,
  isRefused,
  MAX_PART_BYTES,
  messageToJson,
  parseKey,
  platformTraits,
  resetReason,
  scopeFor,
  sessionContextToJson,
  sessionKey,
  sourceFromJson,
  sourceToJson,
  throwIfRefused,
} from "postrider";

// A source comes from a platform or from JSON. It is checked once, here.
const from = sourceFromJson({
  platform: "telegram",
  chat_id: -100,
  chat_type: "group",
  user_id: "7",
  user_name: "Ann",
});
assert.equal(sourceToJson(from).chat_id, "-100");

// The scope rules decide who shares a conversation; the key is its name for people.
const perUser = buildIdentity(from, scopeFor({}, "telegram"));
const shared = buildIdentity(from, scopeFor({ groupsPerUser: false }, "telegram"));
console.log(`${sessionKey(perUser)} or, shared, ${sessionKey(shared)}`);
assert.deepEqual(parseKey(sessionKey(perUser))?.parts, ["-100", "7"]);
assert.equal(platformTraits("telegram").inbound, "redelivers");

// Who sees a session, and whose memory counts in it.
assert.equal(canSee({ person: "ann" }, { owner: "ann" }), true);
assert.equal(canSee({ person: "bob" }, { owner: "ann" }), false);
assert.equal(getMemoryOwner({ owner: "ann" }), "ann");

// The model reads where it speaks and with whom.
const context = buildSessionContext(from, { platforms: [{ platform: "telegram", connected: true }] });
console.log(contextPrompt(context, { redactPii: true }));
console.log(firstMessageNote());
assert.deepEqual(sessionContextToJson(context).connected_platforms, ["telegram"]);

// A reset is due when the last activity is before one of two instants.
const hour = 3600_000;
const idleBefore = Date.now() - DEFAULT_RESET_POLICY.idleMinutes * 60_000;
assert.equal(resetReason(Date.now() - 30 * hour, { idleBefore }), "idle");
assert.equal(resetReason(Date.now() - hour, { idleBefore }), undefined);

// Usage is added up, and messages become JSON. One part has at most this many bytes.
const usage = addUsage(emptyUsage(), { inputTokens: 400, outputTokens: 80 });
assert.equal(usage.inputTokens + usage.outputTokens, 480);
const message = { role: "user", parts: [{ type: "text", text: "hello" }] } as const;
assert.equal(messageToJson(message).role, "user");
console.log(`At most ${MAX_PART_BYTES / 1024 / 1024} MB in one part.`);

// What fails normally is a value. A caller that wants an exception asks for one.
const memory = throwIfRefused(applyMemoryChange([], { action: "add", text: "Ann takes the night train." }));
const refusal = applyMemoryChange(memory, { action: "remove", old: "the bus" });
assert.ok(isRefused(refusal));
console.log(refusal.reason);
assert.throws(() => throwIfRefused(refusal), { code: refusal.refused });
