import { onEndSignals } from "../../src/apps/end-signals.ts";

/** A program whose shutdown never comes to an end. */
const [limitMs = "60000"] = process.argv.slice(2);
onEndSignals((signal) => process.stdout.write(`${signal}\n`), { limitMs: Number(limitMs) });
setInterval(() => {}, 1000);
process.stdout.write("ready\n");
