import type { ServerEntry } from "../server-entry.ts";

/** The system and the folders that determine where an editor keeps its settings. */
export interface HostMachine {
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
  /** The home directory of the user. */
  readonly folder: string;
}

/** An editor that `postrider acp install` can set up. */
export interface SupportedEditor {
  /** The name on the command line. */
  readonly name: string;
  /** The name in messages. */
  readonly title: string;
  /** Other names that people may type. */
  readonly aliases: readonly string[];
  /** The file for the snippet. */
  file(machine: HostMachine): string;
  /** The instruction after the installation. */
  readonly nextStep: string;
  /** The text for that file, with a final line break. `name` is the name that the editor shows. */
  snippet(name: string, server: ServerEntry, home: string): string;
  /** The section of the settings. Only for editors whose file is data that can be merged. */
  readonly settings?: {
    readonly section: string;
    entry(server: ServerEntry): Readonly<Record<string, unknown>>;
  };
}

/** An editor whose settings are JSON with a section of agents. */
export function defineJsonEditor(
  editor: Omit<SupportedEditor, "snippet" | "settings"> & {
    readonly settings: NonNullable<SupportedEditor["settings"]>;
  },
): SupportedEditor {
  const { section, entry } = editor.settings;
  return {
    ...editor,
    snippet: (name, server) => `${JSON.stringify({ [section]: { [name]: entry(server) } }, null, 2)}\n`,
  };
}
