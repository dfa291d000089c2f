/** Where a command would run, and which folders are not for it. */
export interface CommandContext {
  /** The folder in which it runs. */
  readonly cwd: string;
  /** It may run in another folder than `cwd` by now. */
  readonly isCwdUnsure?: boolean;
  /** Folders that belong to Postrider: configuration, database, logs. */
  readonly homes: readonly string[];
  /** Folders that are meant for the agent. One that lies in a home is free, the rest of the home is not. */
  readonly workspaces: readonly string[];
  /** The user's home folder, for `~`. */
  readonly userHome?: string;
  /** Where a path leads when links are followed; undefined if nothing is there. */
  realPath(path: string): string | undefined;
}

/** For a command of which nothing is known but its text. */
export const NO_CONTEXT: CommandContext = {
  cwd: "/",
  homes: [],
  workspaces: [],
  realPath: () => undefined,
};
