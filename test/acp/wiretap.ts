import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Tapped, WireMessage } from "./wire.ts";

/**
 * A proxy between a client and an agent that records their messages in a file. With `without-resume` the
 * client does not see the resume capability, so it loads sessions instead.
 */
const [file = "", as = "", command = "", ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
// If one side is killed, the other sees a closed pipe.
for (const stream of [agent.stdin, process.stdout]) stream.on("error", () => {});
agent.on("close", () => process.exit());

createInterface({ input: process.stdin })
  .on("line", (line) => {
    keep({ by: "client", message: JSON.parse(line) });
    agent.stdin.write(`${line}\n`);
  })
  .on("close", () => agent.stdin.end());

createInterface({ input: agent.stdout }).on("line", (line) => {
  const message: WireMessage = JSON.parse(line);
  if (as === "without-resume") delete message.result?.agentCapabilities?.sessionCapabilities.resume;
  keep({ by: "agent", message });
  process.stdout.write(`${JSON.stringify(message)}\n`);
});

function keep(tapped: Tapped): void {
  appendFileSync(file, `${JSON.stringify(tapped)}\n`);
}
