import { basename } from "node:path";
import { mustBeThere, PROJECT_FILE, readText } from "../../config/files.ts";
import { foldersInHome } from "../../config/folders-in-home.ts";
import { fileLayer, readLayers } from "../../config/layers.ts";
import { type Problem, problemJson, problemLine } from "../../config/problem.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, say, sayJson } from "../io.ts";
import { placeOf } from "./here.ts";

export const check: Command = defineCommand({
  name: "config check",
  takes: "[FILE]",
  words: [0, 1],
  about: `Everything that is wrong with the configuration, each with its file, line and key: the home's config.yaml,
postrider.yaml here, and the environment; or FILE alone. The exit code is 1 when there is a problem.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider config check", "is everything all right?"],
    ["postrider config check new-config.yaml", "before it takes the old one's place"],
  ],
  run({ words: [file], values }, io) {
    const { files, problems } = file === undefined ? everything(io) : one(file, io);
    if (values.json) sayJson(io, { ok: problems.length === 0, files, problems: problems.map(problemJson) });
    else if (problems.length > 0) for (const problem of problems) say(io, problemLine(problem));
    else
      say(
        io,
        files.length === 0 ? "No problems: nothing is configured, so the defaults count." : "No problems.",
      );
    return Promise.resolve(problems.length === 0 ? 0 : 1);
  },
});

interface Findings {
  readonly files: readonly string[];
  readonly problems: readonly Problem[];
}

function everything(io: Io): Findings {
  const place = placeOf(io);
  const { files, problems, exposed } = readLayers(place);
  const own = files.at(-1)?.file ?? "";
  const open: Problem = {
    file: own,
    text: `holds a secret and others on this machine may read it: chmod 600 ${own}`,
  };
  return {
    files: files.flatMap(({ file, found }) => (found ? [file] : [])),
    problems: exposed ? [...problems, open] : problems,
  };
}

function one(given: string, io: Io): Findings {
  const file = mustBeThere(given, process.cwd());
  const role = basename(file) === PROJECT_FILE ? "project" : "home";
  const { values, problems } = fileLayer(file, readText(file), role);
  return { files: [file], problems: [...problems, ...foldersInHome(values, placeOf(io).home)] };
}
