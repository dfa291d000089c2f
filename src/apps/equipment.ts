import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Equipment } from "../gateway/equip.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { childEnvironment } from "../processes/child-environment.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";
import { secretsOf } from "./log/secrets.ts";
import { processesOf } from "./processes-of-home.ts";

export interface EquipmentOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly store: Store;
  readonly clock: Clock;
  /** As configured now; nothing may be. */
  config(): Config | undefined;
}

/** What agents of one home work with. Whoever asks for it closes its processes' connection. */
export function equipmentOf({ home, environment, store, clock, config }: EquipmentOptions): Equipment {
  return {
    processes: processesOf(home, store, clock),
    home: home.folder,
    workspace() {
      const folder = join(home.folder, "workspace");
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
    environment: (names) => childEnvironment(environment, names),
    secrets: () => secretsOf(environment, config()),
  };
}
