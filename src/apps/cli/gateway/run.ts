import { PostriderError } from "../../../core/errors.ts";
import { onShutdownSignals } from "../../shutdown-signals.ts";
import { type Command, defineCommand } from "../command.ts";
import { type Io, printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";

/** The exit code by which whoever starts it knows that one runs: there is nothing to be done. */
const ALREADY_RUNNING_EXIT = 3;
/** Answers that are being written have 20 s, messages that are being sent 10 more. */
const STOP_LIMIT_MS = 45_000;

export const runGatewayCommand: Command = defineCommand({
  name: "gateway run",
  about: `Connects the agent to the messengers that are set up, and stays: what is said there is answered there. The log is
shown, and kept in logs/gateway.log of the home; in a pipe it is one JSON object a line. One gateway runs in a home at a
time; terminals work beside it. Ctrl-C or SIGTERM ends it: answers that are being written may come to their end, and
what could not be sent yet is sent by the next one. A second Ctrl-C or SIGTERM ends it at once.`,
  options: {
    verbose: { type: "flag", short: "v", help: "log everything, whatever log.level says" },
    agent: {
      type: "text",
      value: "NAME",
      help: "who answers: model, echo, script:FILE, ./FILE.ts or a plugin's agent (default: the model, if there is one)",
    },
  },
  examples: [
    ["postrider gateway run", "until Ctrl-C; postrider gateway install makes it a service"],
    ["postrider gateway run --agent echo", "without a model, to see that messages arrive"],
  ],
  async run({ values }, io) {
    prepareHome(io);
    io.notices.on("error", () => {}); // whoever looked on has left; the home has the log
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
        log.info({ signal }, "ending; what is being answered may come to its end");
        gateway.stop().catch(() => {}); // `ended` tells
      },
      { limitMs: STOP_LIMIT_MS },
    );
    const crash = (error: unknown): void => {
      log.error({ error }, "something that must not happen has happened, so the gateway ends");
      process.exit(1);
    };
    // Through the log, which masks secrets; what is stored is whole, and the next start goes on with it.
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
  printNotice(io, `The gateway runs: ${names}, answered by ${gateway.agent}. Ctrl-C ends it.`);
}
