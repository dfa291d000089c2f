import { onShutdownSignals } from "../../src/apps/shutdown-signals.ts";

/** A process whose shutdown never finishes. */
const [limitMs = "60000"] = process.argv.slice(2);
onShutdownSignals((signal) => process.stdout.write(`${signal}\n`), { limitMs: Number(limitMs) });
setInterval(() => {}, 1000);
process.stdout.write("ready\n");
