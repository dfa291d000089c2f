// An own tool that asks first: the agent wants to refund an order, the person presses a button, and only then the tool runs.
// The bot is on a fake Telegram, so that the example runs without a token.
//
//   node --import ./examples/resolve.mjs examples/07-own-tool.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "postrider";
import { script } from "postrider/agent";
import { startGateway } from "postrider/gateway";
import { telegram } from "postrider/platforms/telegram";
import { startFakeTelegram } from "postrider/testing";
import { defineTool } from "postrider/tool";
import { z } from "zod";

const refunded: number[] = [];

const refund = defineTool({
  name: "refund",
  description: "Refunds an order to the customer.",
  // The model gets this as a JSON schema; `approval` and `run` get typed values. A plain JSON schema works, too.
  input: z.object({ order: z.int(), euros: z.number().positive() }),
  // It changes something outside, so it never runs twice after a crash; the call is on the disk before it runs.
  effect: "external",
  // Offered to everyone who may speak to the bot. The default is the owner alone.
  audience: "everyone",
  approval: ({ order, euros }) => ({ title: `Refund ${euros} € for order ${order}?` }),
  run({ order }) {
    refunded.push(order);
    return `Order ${order} is refunded.`;
  },
});

// A scripted agent, in place of a model: it calls the tool, then answers.
const agent = script({
  answers: [
    {
      to: "refund",
      say: [{ use: "refund", arguments: { order: 4711, euros: 20 } }, "The money is on its way."],
    },
  ],
});

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const fake = await startFakeTelegram();
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const gateway = await startGateway({
  store,
  agent,
  tools: [refund],
  platforms: [telegram({ token: fake.token, apiRoot: fake.url })],
  settings: { access: { everywhere: { allowAll: true }, platforms: {} } },
});

try {
  const ann = 7;
  await fake.addUser({ id: ann, firstName: "Ann" });
  const chat = await fake.openDm(ann);
  await fake.say(chat, ann, "Please refund my order");
  await fake.untilAnswered(chat, 1);
  const question = (await fake.messages(chat)).at(-1);
  assert.match(question?.text ?? "", /Refund 20 € for order 4711\?/);
  assert.deepEqual(refunded, []); // nothing happens before the person has said yes

  console.log(question?.text);
  await fake.press(chat, question?.id ?? 0, ann, "Once");
  const { text } = await fake.untilShown(chat, "on its way");
  assert.deepEqual(refunded, [4711]);
  console.log(text);
} finally {
  await gateway.stop();
  await store.close();
  await fake.close();
  await rm(folder, { recursive: true });
}
