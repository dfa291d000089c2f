import type { AccessRole } from "../core/access.ts";
import type { MemoryOwner } from "../core/memory.ts";
import type { Asker } from "../core/owner.ts";
import type { WatchMode } from "../core/process.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { Processes } from "../processes/processes.ts";

/** The context of the tools of one turn: the only source of their permissions. */
export interface ToolContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly session: string;
  readonly conversation: number;
  /** The chat of the turn. */
  readonly target: Source;
  /** The asker, and the chat in which the answer is visible. */
  readonly asker: Asker;
  readonly role: AccessRole;
  /** The owner of the memory: the session's owner. */
  readonly owner: MemoryOwner;
  readonly profile: string;
  /** The working directory of commands and relative paths. */
  readonly cwd: string;
  /** Tools reach only files in these folders. */
  readonly allowedFolders: readonly string[];
  /** Folders such as Postrider's home that are denied even inside allowed ones. */
  readonly deniedFolders: readonly string[];
  /** The complete environment of commands. */
  readonly environment: Readonly<Record<string, string>>;
  /** Values that are masked in every tool output. */
  readonly secrets: readonly string[];
  /** The time-out of foreground commands. */
  readonly timeoutMs: number;
  /** The default notifications of background processes. */
  readonly watchMode: WatchMode;
  /** The terminal of an editor, if commands run there. */
  readonly terminal?: Terminal;
}
