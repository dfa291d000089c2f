import { homedir } from "node:os";
import { nearestName } from "../../../core/command-grammar.ts";
import { PostriderError } from "../../../core/errors.ts";
import { homeOf } from "../../home.ts";
import { type Command, defineCommand, JSON_OPTION, wrongArguments } from "../command.ts";
import { type Io, note, say, sayJson } from "../io.ts";
import type { Editor } from "./editors/editor.ts";
import { jetbrains } from "./editors/jetbrains.ts";
import { neovim } from "./editors/neovim.ts";
import { zed } from "./editors/zed.ts";
import { type ServerEntry, serverEntry } from "./server-entry.ts";

const EDITORS: readonly Editor[] = [zed, jetbrains, neovim];
const NAMES = EDITORS.map(({ name }) => name).join(", ");
const NAME = "Postrider";

export const install: Command = defineCommand({
  name: "acp install",
  takes: "EDITOR",
  words: [1, 1],
  about: `Prints what an editor's settings need to start Postrider, and says where it goes. EDITOR is ${NAMES}.
With --write it is put into the file for you, and everything else in that file stays as it is.`,
  options: {
    write: { type: "flag", help: "put it into the editor's file" },
    force: { type: "flag", help: "with --write: replace an entry of that name that says something else" },
    all: { type: "flag", help: "the editor lists sessions from other places too" },
    agent: { type: "text", value: "NAME", help: "who answers: model, echo or script:FILE" },
    name: { type: "text", value: "NAME", help: `what the editor calls it (default: ${NAME})` },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider acp install zed --write", "set it up"],
    ["postrider acp install jetbrains", "to look at it first"],
    ["postrider acp install neovim > snippet.lua", "for CodeCompanion and avante.nvim"],
  ],
  async run({ words: [typed = ""], values }, io) {
    const editor = editorNamed(typed);
    const { agent, all } = values;
    if (values.force && !values.write) throw wrongArguments("--force goes with --write", "acp install");
    if (agent?.trim() === "") throw wrongArguments("--agent needs a name", "acp install");
    const given: Given = {
      io,
      editor,
      name: shownName(values.name ?? NAME),
      file: editor.file({ platform: process.platform, environment: io.environment, folder: homedir() }),
      server: serverEntry({ environment: io.environment, all, agent }),
    };
    const written = values.write ? await write(given, values.force) : undefined;
    if (values.json) sayJson(io, json(given, written === "added" || written === "replaced"));
    else if (written === undefined) print(given);
    else tellWritten(given, written);
  },
});

interface Given {
  readonly io: Io;
  readonly editor: Editor;
  readonly name: string;
  readonly file: string;
  readonly server: ServerEntry;
}

function editorNamed(typed: string): Editor {
  const word = typed.toLowerCase();
  const found = EDITORS.find(({ name }) => name === word);
  if (found !== undefined) return found;
  const near = nearestName(
    EDITORS.flatMap(({ name, alike }) => [name, ...alike]),
    word,
  );
  const meant = EDITORS.find(({ name, alike }) => name === near || alike.some((other) => other === near));
  const hint = meant === undefined ? "" : ` Did you mean ${meant.name}?`;
  throw wrongArguments(
    `There is no editor "${typed}" here.${hint} Known are ${NAMES}; any other that speaks ACP needs the command that these get.`,
    "acp install",
  );
}

function shownName(name: string): string {
  const shown = name.trim();
  if (shown === "" || shown.length > 100 || /\p{Cc}/u.test(shown))
    throw wrongArguments("--name must be 1 to 100 characters on one line", "acp install");
  return shown;
}

type Written = "added" | "replaced" | "there";

/** What merges is loaded only where something is merged. */
async function write(given: Given, isForced: boolean): Promise<Written> {
  const { editor, file, name, server } = given;
  const { settings } = editor;
  if (settings === undefined) {
    throw new PostriderError(
      "not_allowed",
      `What ${editor.title} reads is your own code, so nothing was written. Paste what postrider acp install ${editor.name} prints.`,
      { details: { editor: editor.name } },
    );
  }
  const { mergeEntry } = await import("./merge-entry.ts");
  const { changeSettings } = await import("./settings-file.ts");
  let written: Written = "there";
  changeSettings(file, (text) => {
    const merged = mergeEntry(text, { section: settings.section, name }, settings.entry(server), isForced);
    if (merged.state === "unusable") throw unusable(file, merged);
    if (merged.state === "other") throw other(given, merged);
    written = merged.state;
    return merged.state === "there" ? undefined : merged.text;
  });
  return written;
}

function unusable(
  file: string,
  { line, column, why }: { readonly line: number; readonly column: number; readonly why: string },
): PostriderError {
  return new PostriderError(
    "invalid_config",
    `${file}:${line}:${column}: ${why}. Nothing was written; mend the file, or add the entry by hand.`,
    { details: { file, line, column } },
  );
}

function other(
  { file, name }: Given,
  { line, differs }: { readonly line: number; readonly differs: readonly string[] },
): PostriderError {
  return new PostriderError(
    "not_allowed",
    `${file}:${line} has an entry "${name}" with another ${differs.join(", ")}. Nothing was written: --force replaces it, --name adds one beside it.`,
    { details: { file, line, differs } },
  );
}

function snippetOf({ io, editor, name, server }: Given): string {
  return editor.snippet(name, server, homeOf(io.environment).folder);
}

function print(given: Given): void {
  const { io, editor, file } = given;
  if (editor.settings === undefined) note(io, `For ${file}, or wherever your plugins are set up:`);
  else note(io, `For ${file} (postrider acp install ${editor.name} --write puts it there):`);
  io.output.write(snippetOf(given));
  tellNext(given);
}

function tellWritten(given: Given, written: Written): void {
  const { io, file, name } = given;
  if (written === "there") say(io, `"${name}" is in ${file} already.`);
  else say(io, `"${name}" is ${written === "added" ? "in" : "replaced in"} ${file}.`);
  tellNext(given);
}

function tellNext({ io, editor }: Given): void {
  note(io, editor.next);
  note(
    io,
    "Keys that are only in your shell are not known to an editor that was started elsewhere. Put the model's into the configuration: postrider config set model.api_key -",
  );
}

function json(given: Given, written: boolean): Record<string, unknown> {
  const { editor, name, file, server } = given;
  return {
    editor: editor.name,
    name,
    file,
    written,
    snippet: snippetOf(given),
    command: server.command,
    args: server.args,
    env: server.env,
  };
}
