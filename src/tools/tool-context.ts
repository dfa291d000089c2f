import type { AccessRole } from "../core/access.ts";
import type { MemoryOwner } from "../core/memory.ts";
import type { Asker } from "../core/owner.ts";
import type { WatchMode } from "../core/process.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { Processes } from "../processes/processes.ts";

/** What the tools of one turn work with: everything they know of whose they are, they know from here. */
export interface ToolContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly session: string;
  readonly conversation: number;
  /** Where the turn was asked for. */
  readonly target: Source;
  /** Who asks, and where the answer will be seen. */
  readonly asker: Asker;
  readonly role: AccessRole;
  /** Whose memory this is: the session's owner. */
  readonly owner: MemoryOwner;
  readonly profile: string;
  /** Where commands run and relative paths begin. */
  readonly cwd: string;
  /** Files outside of these folders are not touched. */
  readonly allowedFolders: readonly string[];
  /** Nor anything in these, such as Postrider's home, whatever `folders` says. */
  readonly deniedFolders: readonly string[];
  /** All that a program sees of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Taken out of whatever a tool gives back. */
  readonly secrets: readonly string[];
  /** How long a command may take that a tool waits for. */
  readonly timeoutMs: number;
  /** How much of background processes the chat is told, where the agent does not say. */
  readonly watchMode: WatchMode;
  /** Where commands run before somebody's eyes. */
  readonly terminal?: Terminal;
}
