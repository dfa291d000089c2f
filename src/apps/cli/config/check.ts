import { basename } from "node:path";
import { PROJECT_FILE, readConfigText, requireConfigFile } from "../../config/config-files.ts";
import { type ConfigProblem, configProblemToJson, formatConfigProblem } from "../../config/config-problem.ts";
import { findFoldersInHome } from "../../config/folders-in-home.ts";
import { readFileLayer, readLayers } from "../../config/layers.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, printJson, printLine } from "../io.ts";
import { locateConfig } from "./local-config.ts";

export const checkConfigCommand: Command = defineCommand({
  name: "config check",
  takes: "[FILE]",
  words: [0, 1],
  about: `Lists all problems in the configuration, each with its file, line and key. Reads the home's config.yaml,
postrider.yaml in this folder, and the environment; or FILE alone. The exit code is 1 when there is a problem.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider config check", "check the configuration"],
    ["postrider config check new-config.yaml", "check a file before you use it"],
  ],
  run({ words: [file], values }, io) {
    const { files, problems } = file === undefined ? checkAllLayers(io) : checkFile(file, io);
    if (values.json)
      printJson(io, { ok: problems.length === 0, files, problems: problems.map(configProblemToJson) });
    else if (problems.length > 0) for (const problem of problems) printLine(io, formatConfigProblem(problem));
    else
      printLine(
        io,
        files.length === 0 ? "No problems. Nothing is configured, so the defaults apply." : "No problems.",
      );
    return Promise.resolve(problems.length === 0 ? 0 : 1);
  },
});

interface ConfigFindings {
  readonly files: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

function checkAllLayers(io: Io): ConfigFindings {
  const location = locateConfig(io);
  const { files, problems, exposed } = readLayers(location);
  const own = files.at(-1)?.file ?? "";
  const open: ConfigProblem = {
    file: own,
    text: `contains a secret and other users of this machine can read it. Run: chmod 600 ${own}`,
  };
  return {
    files: files.flatMap(({ file, found }) => (found ? [file] : [])),
    problems: exposed ? [...problems, open] : problems,
  };
}

function checkFile(given: string, io: Io): ConfigFindings {
  const file = requireConfigFile(given, process.cwd());
  const role = basename(file) === PROJECT_FILE ? "project" : "home";
  const { values, problems } = readFileLayer(file, readConfigText(file), role);
  return { files: [file], problems: [...problems, ...findFoldersInHome(values, locateConfig(io).home)] };
}
