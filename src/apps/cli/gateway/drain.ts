import { PostriderError } from "../../../core/errors.ts";
import type { Store } from "../../../ports/store.ts";
import { pause } from "../../../system/pause.ts";
import { listRunningGateways, type RunningGateway } from "../../gateway-lease.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine } from "../io.ts";
import { withStore } from "../open-home.ts";

const DEFAULT_SECONDS = 60;
const POLL_MS = 200;

export const drainGatewayCommand: Command = defineCommand({
  name: "gateway drain",
  takes: "NAME",
  words: [1, 1],
  about: `Asks a gateway or a worker, on any machine, to hand over its work and to end. Another gateway takes over its
connections at once; it finishes its answers, for up to ten minutes. The command returns when the connections are handed
over. postrider gateway status shows the names. It needs a store that several gateways share.`,
  options: {
    timeout: {
      type: "count",
      value: "SECONDS",
      help: `how long to wait for the hand-over (default ${DEFAULT_SECONDS})`,
    },
    json: JSON_OPTION,
  },
  examples: [["postrider gateway drain berlin-1", "before an update of that machine"]],
  async run({ words: [name = ""], values }, io) {
    const seconds = values.timeout ?? DEFAULT_SECONDS;
    const left = await withStore(io, async ({ store }) => {
      const found = requireNamed(await listRunningGateways(store, io.now()), name);
      const asked = await store.runners.requestDrain({ runner: found.runner.id, now: io.now() });
      if (!asked) throw new PostriderError("not_found", `${name} has just ended.`);
      return waitForHandOver(store, found, seconds * 1000);
    });
    const turns = left?.turns ?? 0;
    if (values.json) return printJson(io, { name, ended: left === undefined, turns });
    printLine(
      io,
      left === undefined
        ? `${name} has handed over its work and has ended.`
        : `${name} has handed over its connections. It ends when its answers are finished (${turns} at its last heartbeat).`,
    );
  },
});

function requireNamed(running: readonly RunningGateway[], name: string): RunningGateway {
  const found = running.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = running.flatMap((one) => one.name ?? []);
  const known = names.length === 0 ? "None on this store has a name." : `There are: ${names.join(", ")}.`;
  throw new PostriderError("not_found", `No gateway or worker has the name ${name}. ${known}`, {
    details: { name, names },
  });
}

/** Resolves with the gateway once it holds no connection; `undefined` if it has ended. */
async function waitForHandOver(
  store: Store,
  { runner }: RunningGateway,
  ms: number,
): Promise<RunningGateway | undefined> {
  const until = performance.now() + ms;
  for (;;) {
    const seen = (await listRunningGateways(store, Date.now())).find((one) => one.runner.id === runner.id);
    if (seen === undefined || seen.connections.length === 0) return seen;
    if (performance.now() >= until)
      throw new PostriderError(
        "busy",
        `It has been asked, but still holds ${seen.connections.map(({ platform }) => platform).join(", ")}. It may hang; check with postrider gateway status.`,
      );
    await pause(POLL_MS);
  }
}
