import { agentEnvironment } from "../processes/child-environment.ts";
import type { Processes } from "../processes/processes.ts";
import type { Equipment } from "../turns/equip.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";
import { secretsOf } from "./log/secrets.ts";
import { thisMachine } from "./machine.ts";
import { makeWorkspace, workspacesOf } from "./workspace.ts";

export interface EquipmentOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly processes: Processes;
  /** As configured now; nothing may be. */
  config(): Config | undefined;
}

/** What agents of one home work with. */
export function equipmentOf({ home, environment, processes, config }: EquipmentOptions): Equipment {
  return {
    processes,
    home: home.folder,
    workspace: (owner) => makeWorkspace(workspacesOf(home, config()?.gateway.tools), owner),
    environment: (names) => agentEnvironment(environment, names),
    secrets: () => secretsOf(environment, config()),
    machine: thisMachine(),
  };
}
