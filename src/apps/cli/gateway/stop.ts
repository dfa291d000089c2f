import { hostname } from "node:os";
import { PostriderError } from "../../../core/errors.ts";
import type { Runner } from "../../../core/runner.ts";
import type { Store } from "../../../ports/store.ts";
import { pause } from "../../../system/pause.ts";
import { isOwnPidScope, readStartTicks } from "../../../system/process-identity.ts";
import { findRunningGateway, type RunningGateway } from "../../gateway-lease.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";

/** Answers in progress have 20 s, deliveries 10 s more. */
const DEFAULT_SECONDS = 60;
const POLL_MS = 100;

export const stopGatewayCommand: Command = defineCommand({
  name: "gateway stop",
  about: `Shuts the gateway of this home down and returns when it has ended. Answers in progress may finish, and nothing is
lost. It works only on the machine on which the gateway runs.`,
  options: {
    timeout: {
      type: "count",
      value: "SECONDS",
      help: `the time limit for the shutdown (default ${DEFAULT_SECONDS})`,
    },
    json: JSON_OPTION,
  },
  examples: [["postrider gateway stop", "stop it and wait until it has ended"]],
  async run({ values }, io) {
    const seconds = values.timeout ?? DEFAULT_SECONDS;
    if (seconds > 86_400) throw usageError("--timeout must be at most 86400 (one day)", "gateway stop");
    const { gateway, running } = await withStore(io, async ({ store }) => {
      const seen = await findRunningGateway(store, Date.now());
      if (seen === undefined) throw new PostriderError("not_found", "No gateway runs in this home.");
      requireLocalRunner(seen.runner);
      // Another process may have got its pid since.
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
  const what = count === 1 ? "1 background process continues" : `${count} background processes continue`;
  return `${what}. List: postrider processes --everyone. End one: postrider processes kill PROCESS.`;
}

function requireLocalRunner({ host, boot, pid }: Runner): void {
  if (host === hostname() && isOwnPidScope(boot)) return;
  throw new PostriderError(
    "not_allowed",
    `The gateway runs on another machine or in another container: ${host} (process ${pid}). Run postrider gateway stop there.`,
  );
}

/** Waits for the end of the process. False after the time-out. */
async function waitUntilGone(store: Store, { runner }: RunningGateway, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  for (;;) {
    const seen = await findRunningGateway(store, Date.now());
    if (seen?.runner.id !== runner.id && !isRunning(runner)) return true;
    if (performance.now() >= until) return false;
    await pause(POLL_MS);
  }
}

/** Whether this very process runs: not a zombie, and not another process with its pid. */
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
    `The gateway (process ${pid}) has not ended within ${seconds} seconds. It may still finish an answer; check with postrider gateway status.`,
    { details: { pid } },
  );
}
