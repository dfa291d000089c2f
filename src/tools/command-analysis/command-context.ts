/** The folders that matter for the analysis of a command. */
export interface CommandContext {
  /** The working directory. */
  readonly cwd: string;
  /** The current folder may differ from `cwd`. */
  readonly isCwdUnsure?: boolean;
  /** Folders of Postrider: configuration, database, logs. */
  readonly homes: readonly string[];
  /** Folders for the agent. They are allowed even inside a home. */
  readonly workspaces: readonly string[];
  /** The user's home folder, for `~`. */
  readonly userHome?: string;
  /** The real path without links; undefined if it does not exist. */
  realPath(path: string): string | undefined;
}

/** The context of a command of which only the text is known. */
export const NO_CONTEXT: CommandContext = {
  cwd: "/",
  homes: [],
  workspaces: [],
  realPath: () => undefined,
};
