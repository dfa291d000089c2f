import { PostriderError } from "../../../core/errors.ts";
import type { Runner } from "../../../core/runner.ts";
import type { Store } from "../../../ports/store.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { pause } from "../../../system/pause.ts";
import { readStartTicks } from "../../../system/process-identity.ts";
import { findRunningGateway, type RunningGateway } from "../../gateway-lease.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";

/** An answer that is being written may take 20 seconds to its end, and what is being sent 10 more. */
const DEFAULT_SECONDS = 60;
const POLL_MS = 100;

export const stopGatewayCommand: Command = defineCommand({
  name: "gateway stop",
  about: `Tells the gateway of this home to end, and waits until it has: answers that are being written may come to their
end, nothing is lost. Only a process that is still the gateway is told so, and only on this machine.`,
  options: {
    timeout: {
      type: "count",
      value: "SECONDS",
      help: `how long to wait for its end (default ${DEFAULT_SECONDS})`,
    },
    json: JSON_OPTION,
  },
  examples: [["postrider gateway stop", "returns when it has ended"]],
  async run({ values }, io) {
    const seconds = values.timeout ?? DEFAULT_SECONDS;
    if (seconds > 86_400) throw usageError("--timeout can be a day at most", "gateway stop");
    const { gateway, running } = await withStore(io, async ({ store }) => {
      const seen = await findRunningGateway(store, Date.now());
      if (seen === undefined) throw new PostriderError("not_found", "No gateway runs in this home.");
      requireLocalRunner(seen.runner);
      // Whoever has got its pid since is not it.
      if (isRunning(seen.runner)) process.kill(seen.runner.pid, "SIGTERM");
      if (!(await waitUntilGone(store, seen, seconds * 1000))) throw stillRunningError(seen.runner, seconds);
      return {
        gateway: seen,
        running: (await store.processes.listProcesses({ asker: { everyone: true } })).length,
      };
    });
    const { pid } = gateway.runner;
    if (values.json) return printJson(io, { stopped: true, pid, processes_running: running });
    printLine(io, `The gateway has stopped (process ${pid}).`);
    if (running > 0) printNotice(io, formatRemainingProcesses(running));
  },
});

function formatRemainingProcesses(count: number): string {
  const what = count === 1 ? "1 background process goes on" : `${count} background processes go on`;
  return `${what}: postrider processes --everyone lists them, postrider processes kill PROCESS ends one.`;
}

function requireLocalRunner({ host, boot, pid }: Runner): void {
  const here = localRunner();
  if (here.host === host && here.boot === boot) return;
  throw new PostriderError(
    "not_allowed",
    `The gateway runs on ${host} (process ${pid}), not here. Stop it there: postrider gateway stop.`,
  );
}

/** Whether the process has ended in time. */
async function waitUntilGone(store: Store, { runner }: RunningGateway, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  for (;;) {
    const seen = await findRunningGateway(store, Date.now());
    if (seen?.runner.id !== runner.id && !isRunning(runner)) return true;
    if (performance.now() >= until) return false;
    await pause(POLL_MS);
  }
}

/** Whether this very process runs: not one that has ended and waits to be asked how, nor another with its pid. */
function isRunning({ pid, started }: Runner): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return started === "" || readStartTicks(pid) === started;
}

function stillRunningError({ pid }: Runner, seconds: number): PostriderError {
  return new PostriderError(
    "busy",
    `The gateway (process ${pid}) was told to end and has not done so within ${seconds} seconds. It may still finish an answer: postrider gateway status tells.`,
    { details: { pid } },
  );
}
