import { ACP } from "./acp.ts";
import { AGENTS } from "./agents.ts";
import { APPS } from "./apps.ts";
import { CLI } from "./cli.ts";
import { GATEWAY } from "./gateway.ts";
import type { Mutation } from "./mutation.ts";
import { PLATFORMS } from "./platforms.ts";
import { STORES } from "./stores.ts";
import { TOOLS } from "./tools.ts";
import { TURNS } from "./turns.ts";

export const MUTATIONS: readonly Mutation[] = [
  ...GATEWAY,
  ...TURNS,
  ...APPS,
  ...CLI,
  ...ACP,
  ...AGENTS,
  ...TOOLS,
  ...PLATFORMS,
  ...STORES,
];
