import type { ServerEntry } from "../server-entry.ts";

/** Which system, and whose folders: what decides where an editor keeps its settings. */
export interface HostMachine {
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
  /** The person's own folder. */
  readonly folder: string;
}

/** An editor that can be told to start Postrider. */
export interface SupportedEditor {
  /** As it is typed. */
  readonly name: string;
  /** As it calls itself. */
  readonly title: string;
  /** What people may type when they mean it. */
  readonly aliases: readonly string[];
  /** The file into which the snippet belongs. */
  file(machine: HostMachine): string;
  /** What the person does after that. */
  readonly nextStep: string;
  /** What the person writes into that file, ending with a line break. `name` is what the editor shows. */
  snippet(name: string, server: ServerEntry, home: string): string;
  /** Only where the file is data that can be merged: its part of the settings. */
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
