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

/** Continues the deliveries, commands and turns of crashed processes, and sends what other processes have stored. */
export async function recover(flow: Flow): Promise<void> {
  for (const name of flow.platforms) {
    const connected = flow.getConnection(name);
    if (connected === undefined) continue;
    await recoverDeliveries(flow, connected);
    await recoverCommands(flow, connected);
  }
  await recoverTurns(flow);
}

/** Runs the turns that no live process runs, as far as there is room. */
export async function recoverTurns(flow: Flow): Promise<void> {
  const { store, clock, runner, turns } = flow;
  for (const session of turns.listUnfinished()) {
    const turn = turns.takeUnfinished(session);
    if (turn !== undefined) runInBackground(flow.log, "retrying a failed turn", turns.run(turn));
  }
  for (const { session, platform } of await store.turns.listClaimable({ now: clock.now() })) {
    if (flow.signal.aborted || !flow.hasRoom()) return;
    // A terminal claims its own turns.
    if (flow.getConnection(platform) === undefined || turns.isRunning(session)) continue;
    const [conversation] = await store.conversations.findConversations({ asker: SYSTEM, session });
    const take = getTakeMode(flow.settings(), conversation?.settings);
    const turn = await store.turns.claim({ session, runner, take, now: clock.now() });
    if (turn !== undefined) runInBackground(flow.log, "a recovered turn", turns.run(turn));
  }
}

/** A delivery whose send was interrupted may have arrived; it becomes pending with that mark. */
async function recoverDeliveries(flow: Flow, { platform, outbox }: PlatformConnection): Promise<void> {
  const { store, clock } = flow;
  const now = clock.now();
  const orphans = await store.outbox.listOrphanedDeliveries({ platform: platform.name, now });
  for (const { number, status } of orphans) {
    if (status.state !== "sending") continue;
    const outcome: Settle["outcome"] = {
      state: "waiting",
      nextAt: now,
      error: "Postrider stopped while it was being sent.",
      ...(status.shown === "nothing" && { shown: "unknown" }),
    };
    await store.outbox.settle({ delivery: number, outcome, now });
  }
  // They are pending now like the others, and are sent in their order.
  await outbox.poll();
}

/** Runs a read-only command again. Any other may have happened: the person is told to check. */
async function recoverCommands(flow: Flow, connected: PlatformConnection): Promise<void> {
  const { store, clock } = flow;
  for (const orphan of await store.inbox.listOrphanedCommands({
    platform: connected.platform.name,
    now: clock.now(),
  })) {
    const command = parseCommand(orphan.line);
    const isReadOnly =
      command !== undefined && findChatCommand(command.name, flow.customCommands)?.isReadOnly;
    const role = resolveRole(
      flow.settings().access,
      orphan.source,
      await store.access.getAccount(getSenderAccount(orphan.source)),
    );
    if (isReadOnly && role !== undefined) {
      await runInboxCommand(flow, connected, { ...command, ...orphan, role }, async () => {});
    } else await reportInterrupted(connected, orphan);
  }
}

async function reportInterrupted({ outbox }: PlatformConnection, orphan: OrphanedCommand): Promise<void> {
  const words = `Postrider was interrupted while it ran \`${shortenLine(orphan.line, 60)}\`, so the command may have taken effect or not. Check with /status and /history, and give it again if needed.`;
  // The message of a stranger has no line; they will ask again.
  await outbox.sendText(orphan.source, orphan.line === "" ? "" : words, { answeredCommand: orphan.inbox });
}
