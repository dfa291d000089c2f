import { PostriderError } from "../../../core/errors.ts";
import { isSharedStore } from "../../open-store.ts";
import { onShutdownSignals } from "../../shutdown-signals.ts";
import { type Command, defineCommand } from "../command.ts";
import { printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";
import { AGENT_OPTION, STOP_LIMIT_MS, VERBOSE_OPTION } from "./run.ts";

export const runWorkerCommand: Command = defineCommand({
  name: "worker",
  about: `Runs the agent for the gateways on a shared store, and connects to no messenger: the gateways send the answers.
Give the gateways a limit with gateway.max_turns; the workers run the turns above it. With 0, they run all.
Ctrl-C or SIGTERM shuts it down: it finishes the answers in progress.`,
  options: { verbose: VERBOSE_OPTION, agent: AGENT_OPTION },
  examples: [["postrider worker", "run until Ctrl-C"]],
  async run({ values }, io) {
    const home = prepareHome(io);
    if (!(await isSharedStore(home, io.environment)))
      throw new PostriderError(
        "invalid_config",
        "A worker needs a store that it shares with the gateways. Set store in config.yaml, or POSTRIDER_STORE, to postgres://user:password@host/database.",
      );
    io.notices.on("error", () => {}); // a closed stderr is no reason to stop: the log file has everything
    const { openGateway } = await import("./open-gateway.ts");
    const { gateway, log, close } = await openGateway(io, {
      showsLog: true,
      worker: true,
      ...(values.verbose && { level: "debug" }),
      ...(values.agent !== undefined && { agent: values.agent }),
    });
    if (gateway.hint !== undefined) log.warn({}, gateway.hint);
    if (io.notices.isTTY)
      printNotice(io, `The worker runs with the agent ${gateway.agent}. Press Ctrl-C to stop it.`);
    const forgetSignals = onShutdownSignals(() => gateway.stop().catch(() => {}), { limitMs: STOP_LIMIT_MS });
    try {
      await gateway.ended;
    } finally {
      forgetSignals();
      close();
    }
    return 0;
  },
});
