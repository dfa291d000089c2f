import { homedir } from "node:os";
import { findNearestName } from "../../../core/command-grammar.ts";
import { PostriderError } from "../../../core/errors.ts";
import { resolveHome } from "../../home.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "../command.ts";
import { type Io, printJson, printLine, printNotice } from "../io.ts";
import { jetbrains } from "./editors/jetbrains.ts";
import { neovim } from "./editors/neovim.ts";
import type { SupportedEditor } from "./editors/supported-editor.ts";
import { zed } from "./editors/zed.ts";
import { buildServerEntry, type ServerEntry } from "./server-entry.ts";

const EDITORS: readonly SupportedEditor[] = [zed, jetbrains, neovim];
const NAMES = EDITORS.map(({ name }) => name).join(", ");
const DEFAULT_NAME = "Postrider";

export const installEditorCommand: Command = defineCommand({
  name: "acp install",
  takes: "EDITOR",
  words: [1, 1],
  about: `Prints the entry that an editor's settings need to start Postrider, and the file for it. EDITOR is ${NAMES}.
With --write, Postrider adds the entry to the file and changes nothing else in it.`,
  options: {
    write: { type: "flag", help: "add the entry to the editor's file" },
    force: { type: "flag", help: "with --write: replace a different entry of that name" },
    all: { type: "flag", help: "the editor also lists sessions from messengers and terminals" },
    agent: {
      type: "text",
      value: "NAME",
      help: "the agent: model, echo, script:FILE, ./FILE.ts or a plugin's",
    },
    name: { type: "text", value: "NAME", help: `the name in the editor (default: ${DEFAULT_NAME})` },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider acp install zed --write", "set it up"],
    ["postrider acp install jetbrains", "print it first"],
    ["postrider acp install neovim > snippet.lua", "for CodeCompanion and avante.nvim"],
  ],
  async run({ words: [typed = ""], values }, io) {
    const editor = findEditor(typed);
    const { agent, all } = values;
    if (values.force && !values.write) throw usageError("--force goes with --write", "acp install");
    if (agent?.trim() === "") throw usageError("--agent needs a name", "acp install");
    const request: InstallRequest = {
      io,
      editor,
      name: parseName(values.name ?? DEFAULT_NAME),
      file: editor.file({ platform: process.platform, environment: io.environment, folder: homedir() }),
      server: buildServerEntry({ environment: io.environment, all, agent }),
    };
    const written = values.write ? await writeEntry(request, values.force) : undefined;
    if (values.json) printJson(io, formatInstallJson(request, written === "added" || written === "replaced"));
    else if (written === undefined) printSnippet(request);
    else printWritten(request, written);
  },
});

interface InstallRequest {
  readonly io: Io;
  readonly editor: SupportedEditor;
  readonly name: string;
  readonly file: string;
  readonly server: ServerEntry;
}

function findEditor(typed: string): SupportedEditor {
  const word = typed.toLowerCase();
  const found = EDITORS.find(({ name }) => name === word);
  if (found !== undefined) return found;
  const near = findNearestName(
    EDITORS.flatMap(({ name, aliases }) => [name, ...aliases]),
    word,
  );
  const meant = EDITORS.find(({ name, aliases }) => name === near || aliases.some((other) => other === near));
  const hint = meant === undefined ? "" : ` Did you mean ${meant.name}?`;
  throw usageError(
    `Postrider does not know the editor "${typed}".${hint} Known editors: ${NAMES}. Any other editor with ACP needs the same command.`,
    "acp install",
  );
}

function parseName(name: string): string {
  const shown = name.trim();
  if (shown === "" || shown.length > 100 || /\p{Cc}/u.test(shown))
    throw usageError("--name must be 1 to 100 characters on one line", "acp install");
  return shown;
}

type WriteResult = "added" | "replaced" | "there";

/** Loads the merging code on use. */
async function writeEntry(request: InstallRequest, isForced: boolean): Promise<WriteResult> {
  const { editor, file, name, server } = request;
  const { settings } = editor;
  if (settings === undefined) {
    throw new PostriderError(
      "not_allowed",
      `The configuration of ${editor.title} is your own code, so nothing was written. Paste the output of postrider acp install ${editor.name}.`,
      { details: { editor: editor.name } },
    );
  }
  const { mergeEntry } = await import("./merge-entry.ts");
  const { changeSettings } = await import("./settings-file.ts");
  let written: WriteResult = "there";
  changeSettings(file, (text) => {
    const merged = mergeEntry(text, { section: settings.section, name }, settings.entry(server), isForced);
    if (merged.state === "unusable") throw unusableSettings(file, merged);
    if (merged.state === "other") throw conflictingEntry(request, merged);
    written = merged.state;
    return merged.state === "there" ? undefined : merged.text;
  });
  return written;
}

function unusableSettings(
  file: string,
  { line, column, why }: { readonly line: number; readonly column: number; readonly why: string },
): PostriderError {
  return new PostriderError(
    "invalid_config",
    `${file}:${line}:${column}: ${why}. Nothing was written; correct the file, or add the entry by hand.`,
    { details: { file, line, column } },
  );
}

function conflictingEntry(
  { file, name }: InstallRequest,
  { line, differs }: { readonly line: number; readonly differs: readonly string[] },
): PostriderError {
  return new PostriderError(
    "not_allowed",
    `${file}:${line} has an entry "${name}" with another ${differs.join(", ")}. Nothing was written: --force replaces it, --name adds one beside it.`,
    { details: { file, line, differs } },
  );
}

function buildEditorSnippet({ io, editor, name, server }: InstallRequest): string {
  return editor.snippet(name, server, resolveHome(io.environment).folder);
}

function printSnippet(request: InstallRequest): void {
  const { io, editor, file } = request;
  if (editor.settings === undefined) printNotice(io, `For ${file}, or the file that sets up your plugins:`);
  else printNotice(io, `For ${file} (postrider acp install ${editor.name} --write adds it):`);
  io.output.write(buildEditorSnippet(request));
  printNextSteps(request);
}

function printWritten(request: InstallRequest, written: WriteResult): void {
  const { io, file, name } = request;
  if (written === "there") printLine(io, `"${name}" is already in ${file}.`);
  else printLine(io, `"${name}" was ${written === "added" ? "added to" : "replaced in"} ${file}.`);
  printNextSteps(request);
}

function printNextSteps({ io, editor }: InstallRequest): void {
  printNotice(io, editor.nextStep);
  printNotice(
    io,
    "An editor that you start from the desktop does not have the variables of your shell. Put the key of the model into the configuration: postrider config set model.api_key -",
  );
}

function formatInstallJson(request: InstallRequest, written: boolean): Record<string, unknown> {
  const { editor, name, file, server } = request;
  return {
    editor: editor.name,
    name,
    file,
    written,
    snippet: buildEditorSnippet(request),
    command: server.command,
    args: server.args,
    env: server.env,
  };
}
