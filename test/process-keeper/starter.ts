import { join } from "node:path";
import { connectHomeProcesses } from "../../src/apps/connect-home-processes.ts";
import { sqliteStore, systemClock } from "../../src/index.ts";
import type { StartProcessInput } from "../../src/processes/processes.ts";
import { say, told } from "../support/child.ts";

/** The part of a gateway that starts processes, until it is killed. */
const [, , folder = ""] = process.argv;
const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
const processes = connectHomeProcesses({ folder }, store, systemClock);
say({ ready: true });
for await (const input of told<StartProcessInput>()) say({ started: (await processes.start(input)).id });
process.exit();
