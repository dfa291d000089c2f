import { PostriderError } from "../../../core/errors.ts";
import { onShutdownSignals } from "../../shutdown-signals.ts";
import { type Command, defineCommand } from "../command.ts";
import { type Io, printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";

/** The exit code when a gateway already runs in this home. */
const ALREADY_RUNNING_EXIT = 3;
/** Answers in progress have 20 s, deliveries 10 s more. */
export const STOP_LIMIT_MS = 45_000;

export const VERBOSE_OPTION = {
  type: "flag",
  short: "v",
  help: "log everything; overrides log.level",
} as const;
export const AGENT_OPTION = {
  type: "text",
  value: "NAME",
  help: "the agent: model, echo, script:FILE, ./FILE.ts or an agent of a plugin (default: the model, if one is configured)",
} as const;

export const runGatewayCommand: Command = defineCommand({
  name: "gateway run",
  about: `Connects the agent to the configured messengers and answers messages there until it is stopped. It prints its log and
writes it to logs/gateway.log in the home; in a pipe the log is one JSON object per line. Only one gateway runs in a
home, unless its store is PostgreSQL; terminals work beside it. Ctrl-C or SIGTERM shuts it down: it finishes the answers in progress, and the next
gateway sends the messages that are still pending. A second Ctrl-C or SIGTERM ends it at once.`,
  options: {
    verbose: VERBOSE_OPTION,
    agent: AGENT_OPTION,
  },
  examples: [
    ["postrider gateway run", "run until Ctrl-C; postrider gateway install installs a service"],
    ["postrider gateway run --agent echo", "test the connection without a model"],
  ],
  async run({ values }, io) {
    prepareHome(io);
    io.notices.on("error", () => {}); // a closed stderr is no reason to stop: the log file has everything
    const { openGateway } = await import("./open-gateway.ts");
    const opened = await openGateway(io, {
      showsLog: true,
      ...(values.verbose && { level: "debug" }),
      ...(values.agent !== undefined && { agent: values.agent }),
    }).catch((error: unknown) => {
      if (!(error instanceof PostriderError && error.code === "in_use")) throw error;
      printNotice(io, `postrider: ${error.message}`);
      return undefined;
    });
    if (opened === undefined) return ALREADY_RUNNING_EXIT;
    const { gateway, log, close } = opened;
    if (gateway.hint !== undefined) log.warn({}, gateway.hint);
    printGreeting(io, gateway);
    const forgetSignals = onShutdownSignals(
      (signal) => {
        log.info({ signal }, "gateway shuts down; answers in progress may finish");
        gateway.stop().catch(() => {}); // `ended` rejects with it
      },
      { limitMs: STOP_LIMIT_MS },
    );
    const crash = (error: unknown): void => {
      log.error({ error }, "the gateway exits because of an unexpected error");
      process.exit(1);
    };
    // The log masks secrets. The store is consistent, and the next start recovers from it.
    process.on("uncaughtException", crash);
    try {
      await gateway.ended;
    } finally {
      process.off("uncaughtException", crash);
      forgetSignals();
      close();
    }
    return 0;
  },
});

function printGreeting(
  io: Io,
  gateway: { readonly platforms: readonly { readonly name: string }[]; readonly agent: string },
): void {
  if (io.notices.isTTY !== true) return;
  const names = gateway.platforms.map(({ name }) => name).join(", ");
  printNotice(
    io,
    `The gateway is running on ${names} with the agent ${gateway.agent}. Press Ctrl-C to stop it.`,
  );
}
