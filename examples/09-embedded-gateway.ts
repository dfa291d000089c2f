// A gateway inside of an application: a bot with an own agent, an own command and a hook on Telegram, on an own SQLite file.
// A fake Telegram stands in for the real one; without `apiRoot` the same code talks to Telegram.
//
//   node --import ./examples/resolve.mjs examples/09-embedded-gateway.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessions, getText, sqliteStore } from "postrider";
import type { Agent } from "postrider/agent";
import { type CustomCommand, getDefaultSettings, type Hook, startGateway } from "postrider/gateway";
import { telegram } from "postrider/platforms/telegram";
import type { Store } from "postrider/store";
import { startFakeTelegram } from "postrider/testing";

// An agent is an async generator over a history that is on the disk already.
const counter: Agent = {
  name: "counter",
  async *run({ history }) {
    const asked = history.filter(({ role }) => role === "user");
    yield { type: "text", text: `Message ${asked.length} was "${getText(asked.at(-1) ?? { parts: [] })}".` };
  },
};

const orders: CustomCommand = {
  name: "orders",
  summary: "your open orders",
  isReadOnly: true,
  run: (_, { source }) => `No open orders, ${source.userName}.`,
};

const finished: unknown[] = [];
const hook: Hook = {
  name: "count",
  events: ["agent:end"],
  handle: (_event, { session }) => finished.push(session),
};

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const fake = await startFakeTelegram();
const chat = await fake.addUser({ id: 7, firstName: "Ann" }).then(() => fake.openDm(7));

/** The application starts, talks, and stops. The second time it remembers. */
async function runOnce(lines: readonly string[]): Promise<readonly string[]> {
  const store: Store = await sqliteStore({ file: join(folder, "shop.db") });
  const gateway = await startGateway({
    store,
    agent: counter,
    commands: [orders],
    hooks: [hook],
    platforms: [telegram({ token: fake.token, apiRoot: fake.url })],
    // A function may return other settings for every message.
    settings: () => ({ ...getDefaultSettings(), access: { everywhere: { allow: ["7"] }, platforms: {} } }),
  });
  const answers: string[] = [];
  for (const line of lines) {
    const before = (await fake.messages(chat)).filter(({ by }) => by === "bot").length;
    await fake.say(chat, 7, line);
    await fake.untilAnswered(chat, before + 1);
    answers.push((await fake.messages(chat)).at(-1)?.text ?? "");
  }
  await gateway.stop();
  const sessions = createSessions({ store });
  console.log(`${(await sessions.list({ everyone: true })).items.length} session on the disk`);
  await store.close();
  return answers;
}

try {
  assert.deepEqual(await runOnce(["hello", "/orders"]), ['Message 1 was "hello".', "No open orders, Ann."]);
  assert.deepEqual(await runOnce(["still there?"]), ['Message 2 was "still there?".']);
  assert.equal(finished.length, 2);
} finally {
  await fake.close();
  await rm(folder, { recursive: true });
}
