// An own platform: a hub that speaks lines of JSON over TCP, connected to a gateway. The platform is line-hub/platform.ts;
// 08-own-platform.test.ts shows that it keeps every promise of the port.
//
//   node --import ./examples/resolve.mjs examples/08-own-platform.ts

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "postrider";
import { echo } from "postrider/agent";
import { startGateway } from "postrider/gateway";
import { splitText } from "postrider/platform";
import { lineHub } from "./line-hub/platform.ts";
import { startLineHub } from "./line-hub/server.ts";

const folder = await mkdtemp(join(tmpdir(), "postrider-example-"));
const hub = await startLineHub();
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const gateway = await startGateway({
  store,
  platforms: [lineHub({ host: "127.0.0.1", port: hub.port, account: "rider", token: hub.token })],
  agent: echo,
  settings: { access: { everywhere: { allow: ["ann"] }, platforms: {} } },
});

try {
  const say = (text: string): string => hub.say({ chat: "ann", type: "dm", user: "ann", text });
  say("Does the **post** ride at night?");
  assert.equal((await hub.untilSent("ann", 1))[0]?.text, "You said: Does the post ride at night?");

  // The hub fails once. The gateway retries, and the nonce keeps the message from being there twice.
  hub.failNext("cut");
  say("And in the rain?");
  const sent = await hub.untilSent("ann", 2);
  assert.equal(sent.length, 2);

  // Every platform has a limit. splitText cuts where a reader would pause, and keeps blocks of code whole.
  for (const line of splitText(sent.map(({ text }) => text).join("\n\n"), 50)) console.log(line);
} finally {
  await gateway.stop();
  await store.close();
  await hub.close();
  await rm(folder, { recursive: true });
}
