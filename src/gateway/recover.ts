import { shortened } from "../commands/command.ts";
import { CHAT_COMMANDS } from "../commands/table.ts";
import { accountOf, roleOf } from "../core/access.ts";
import { findCommand, parseCommand } from "../core/command-grammar.ts";
import type { Settle } from "../core/delivery.ts";
import { takeAt } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import type { LeftLine } from "../core/turn.ts";
import { type Connected, type Flow, inBackground } from "./flow.ts";
import { runLine } from "./lines.ts";

/** Takes up, step by step, what a process that is gone has left behind; and what others have stored to be sent. */
export async function recover(flow: Flow): Promise<void> {
  for (const name of flow.platforms) {
    const connected = flow.connected(name);
    if (connected === undefined) continue;
    await takeUpDeliveries(flow, connected);
    await takeUpLines(flow, connected);
  }
  await takeUpTurns(flow);
}

async function takeUpTurns(flow: Flow): Promise<void> {
  const { store, clock, runner, turns } = flow;
  for (const session of turns.broken()) {
    const turn = turns.takeBroken(session);
    if (turn !== undefined) inBackground(flow.log, "a broken turn", turns.run(turn));
  }
  for (const { session, platform } of await store.work({ now: clock.now() })) {
    if (flow.signal.aborted) return;
    // Somebody who waits in a terminal takes theirs up there.
    if (flow.connected(platform) === undefined || turns.isRunning(session)) continue;
    const [conversation] = await store.conversations({ asker: SYSTEM, session });
    const take = takeAt(flow.settings(), conversation?.settings);
    const turn = await store.claim({ session, runner, take, now: clock.now() });
    if (turn !== undefined) inBackground(flow.log, "a turn that was taken up", turns.run(turn));
  }
}

/** What was being sent may have arrived; what waits has not been tried, or is to be tried again. */
async function takeUpDeliveries(flow: Flow, { platform, outbox }: Connected): Promise<void> {
  const { store, clock } = flow;
  const now = clock.now();
  const left = await store.leftDeliveries({ platform: platform.name, now });
  for (const { number, status } of left) {
    if (status.state !== "sending") continue;
    const outcome: Settle["outcome"] = {
      state: "waiting",
      nextAt: now,
      error: "Postrider ended while it was being sent.",
      ...(status.shown === "nothing" && { shown: "unknown" }),
    };
    await store.settle({ delivery: number, outcome, now });
  }
  // Those wait by now like the others, and come in their order.
  await outbox.look(left[0] === undefined ? undefined : left[0].number - 1);
}

/** A command that only looks is done again. Any other may have happened: the person is told, and asked. */
async function takeUpLines(flow: Flow, connected: Connected): Promise<void> {
  const { store, clock } = flow;
  for (const left of await store.leftLines({ platform: connected.platform.name, now: clock.now() })) {
    const command = parseCommand(left.line);
    const isLooking = command !== undefined && findCommand(CHAT_COMMANDS, command.name)?.looks;
    const role = roleOf(flow.settings().access, left.source, await store.account(accountOf(left.source)));
    if (isLooking && role !== undefined) {
      await runLine(flow, connected, { ...command, ...left, role }, async () => {});
    } else await tell(connected, left);
  }
}

async function tell({ outbox }: Connected, left: LeftLine): Promise<void> {
  const words = `Postrider was interrupted while \`${shortened(left.line, 60)}\` was being done, so it may have happened or not. /status and /history show how things are; give it again if need be.`;
  // A stranger's words have no line; they will ask again.
  await outbox.say(left.source, left.line === "" ? "" : words, { line: left.inbox });
}
