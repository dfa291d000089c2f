import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { MemoryOwner } from "../core/memory.ts";
import type { Equipment } from "../gateway/equip.ts";
import { childEnvironment } from "../processes/child-environment.ts";
import type { Processes } from "../processes/processes.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";
import { secretsOf } from "./log/secrets.ts";

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
    workspace(owner) {
      const folder = join(home.folder, "workspace", folderNameOf(owner));
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
    environment: (names) => childEnvironment(environment, names),
    secrets: () => secretsOf(environment, config()),
  };
}

/** One that no other has, and that any file system takes. */
function folderNameOf(owner: MemoryOwner): string {
  const plain = owner.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(0, 60);
  if (plain === owner && plain !== "") return plain;
  return `${plain}-${createHash("sha256").update(owner).digest("hex").slice(0, 12)}`;
}
