/** A second process on the same file: creates sessions until its input ends, and removes sessions on request. */
import { setTimeout as pause } from "node:timers/promises";
import { createSessions, OWNER, sqliteStore } from "../../src/index.ts";
import { say, told } from "../support/child.ts";

export type Order = { readonly create: boolean } | { readonly remove: string };

const [file = ""] = process.argv.slice(2);
const who = { person: OWNER };
const store = await sqliteStore({ file, mode: "in-process" });
const sessions = createSessions({ store });
let isCreating = false;
let creating = Promise.resolve();

async function create(): Promise<void> {
  while (isCreating) {
    await sessions.create(who);
    await pause(1);
  }
}

say("ready");
for await (const order of told<Order>()) {
  if ("remove" in order) await sessions.remove(who, order.remove);
  else {
    isCreating = order.create;
    if (isCreating) creating = create();
  }
}
isCreating = false;
await creating;
await store.close();
