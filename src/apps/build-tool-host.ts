import { buildAgentEnvironment } from "../processes/child-environment.ts";
import type { Processes } from "../processes/processes.ts";
import type { ToolHost } from "../turns/build-tools.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";
import { collectSecrets } from "./log/secrets.ts";
import { readMachine } from "./machine.ts";
import { makeWorkspace, resolveWorkspaces } from "./workspace.ts";

export interface ToolHostOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly processes: Processes;
  /** The current configuration, if there is one. */
  config(): Config | undefined;
}

/** Builds the tool host of a home. */
export function buildToolHost({ home, environment, processes, config }: ToolHostOptions): ToolHost {
  return {
    processes,
    home: home.folder,
    workspace: (owner) => makeWorkspace(resolveWorkspaces(home, config()?.gateway.tools), owner),
    environment: (names) => buildAgentEnvironment(environment, names),
    secrets: () => collectSecrets(environment, config()),
    machine: readMachine(),
  };
}
