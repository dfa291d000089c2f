import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Tapped, WireMessage } from "./wire.ts";

/**
 * Stands between a client and an agent, and keeps what they say to each other in a file. With `without-resume` the
 * client does not learn that the agent can resume sessions, so that it has to load them.
 */
const [file = "", as = "", command = "", ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
// Either side may be killed; the other then learns it from its pipe.
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
