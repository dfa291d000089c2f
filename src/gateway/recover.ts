import { shortenLine } from "../commands/command.ts";
import { findChatCommand } from "../commands/table.ts";
import { getSenderAccount, resolveRole } from "../core/access.ts";
import { parseCommand } from "../core/command-grammar.ts";
import type { Settle } from "../core/delivery.ts";
import { getTakeMode } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import type { OrphanedCommand } from "../core/turn.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import { runInboxCommand } from "./run-inbox-command.ts";

/** Takes up, step by step, what a process that is gone has left behind; and what others have stored to be sent. */
export async function recover(flow: Flow): Promise<void> {
  for (const name of flow.platforms) {
    const connected = flow.getConnection(name);
    if (connected === undefined) continue;
    await recoverDeliveries(flow, connected);
    await recoverCommands(flow, connected);
  }
  await recoverTurns(flow);
}

async function recoverTurns(flow: Flow): Promise<void> {
  const { store, clock, runner, turns } = flow;
  for (const session of turns.listUnfinished()) {
    const turn = turns.takeUnfinished(session);
    if (turn !== undefined) runInBackground(flow.log, "a broken turn", turns.run(turn));
  }
  for (const { session, platform } of await store.turns.listClaimable({ now: clock.now() })) {
    if (flow.signal.aborted) return;
    // Somebody who waits in a terminal takes theirs up there.
    if (flow.getConnection(platform) === undefined || turns.isRunning(session)) continue;
    const [conversation] = await store.conversations.findConversations({ asker: SYSTEM, session });
    const take = getTakeMode(flow.settings(), conversation?.settings);
    const turn = await store.turns.claim({ session, runner, take, now: clock.now() });
    if (turn !== undefined) runInBackground(flow.log, "a turn that was taken up", turns.run(turn));
  }
}

/** What was being sent may have arrived; what waits has not been tried, or is to be tried again. */
async function recoverDeliveries(flow: Flow, { platform, outbox }: PlatformConnection): Promise<void> {
  const { store, clock } = flow;
  const now = clock.now();
  const left = await store.outbox.listOrphanedDeliveries({ platform: platform.name, now });
  for (const { number, status } of left) {
    if (status.state !== "sending") continue;
    const outcome: Settle["outcome"] = {
      state: "waiting",
      nextAt: now,
      error: "Postrider ended while it was being sent.",
      ...(status.shown === "nothing" && { shown: "unknown" }),
    };
    await store.outbox.settle({ delivery: number, outcome, now });
  }
  // Those wait by now like the others, and come in their order.
  await outbox.poll(left[0] === undefined ? undefined : left[0].number - 1);
}

/** A command that only looks is done again. Any other may have happened: the person is told, and asked. */
async function recoverCommands(flow: Flow, connected: PlatformConnection): Promise<void> {
  const { store, clock } = flow;
  for (const left of await store.inbox.listOrphanedCommands({
    platform: connected.platform.name,
    now: clock.now(),
  })) {
    const command = parseCommand(left.line);
    const isLooking = command !== undefined && findChatCommand(command.name, flow.customCommands)?.isReadOnly;
    const role = resolveRole(
      flow.settings().access,
      left.source,
      await store.access.getAccount(getSenderAccount(left.source)),
    );
    if (isLooking && role !== undefined) {
      await runInboxCommand(flow, connected, { ...command, ...left, role }, async () => {});
    } else await reportInterrupted(connected, left);
  }
}

async function reportInterrupted({ outbox }: PlatformConnection, left: OrphanedCommand): Promise<void> {
  const words = `Postrider was interrupted while \`${shortenLine(left.line, 60)}\` was being done, so it may have happened or not. /status and /history show how things are; give it again if need be.`;
  // A stranger's words have no line; they will ask again.
  await outbox.sendText(left.source, left.line === "" ? "" : words, { answeredCommand: left.inbox });
}
