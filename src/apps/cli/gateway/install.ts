import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import { homeOf } from "../../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, note, say, sayJson } from "../io.ts";
import { readyHome } from "../opening.ts";
import { type ServiceFile, serviceFile } from "./service-file.ts";

const SYSTEM_OPTION = {
  type: "flag",
  help: "for the whole machine, not only while you are logged in",
} as const;

export const install: Command = defineCommand({
  name: "gateway install",
  about: `Writes the file with which systemd or launchd starts the gateway and starts it again when it falls, and says how to
enable it. Nothing is started unless you say --enable.`,
  options: {
    print: { type: "flag", help: "print the file, write nothing" },
    system: SYSTEM_OPTION,
    enable: { type: "flag", help: "enable and start it as well" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider gateway install", "a service of yours"],
    ["postrider gateway install --print", "to look at it first"],
  ],
  run({ values }, io) {
    const service = serviceOf(io, values.system);
    if (values.print && !values.json) {
      io.output.write(service.text);
      return Promise.resolve();
    }
    if (!values.print) write(service);
    if (values.enable && !values.print) service.enable.forEach(run);
    if (values.json)
      sayJson(io, { ...serviceJson(service, service.enable), written: !values.print, text: service.text });
    else tellInstalled(io, service, values.enable);
    return Promise.resolve();
  },
});

export const uninstall: Command = defineCommand({
  name: "gateway uninstall",
  about:
    "Removes the file that gateway install has written. A service that is enabled must be disabled first.",
  options: {
    system: SYSTEM_OPTION,
    disable: { type: "flag", help: "stop and disable it first" },
    json: JSON_OPTION,
  },
  examples: [["postrider gateway uninstall --disable", "stops it, and it does not come back"]],
  run({ values }, io) {
    const service = serviceOf(io, values.system);
    const isThere = has(service.file);
    if (isThere && values.disable) service.disable.forEach(run);
    rmSync(service.file, { force: true });
    if (values.json) sayJson(io, { ...serviceJson(service, service.disable), removed: isThere });
    else if (!isThere) say(io, `There is no ${service.file}.`);
    else {
      say(io, `${service.file} is removed.`);
      if (!values.disable) note(io, `If it still runs:\n${commandLines(service.disable)}`);
    }
    return Promise.resolve();
  },
});

function serviceOf(io: Io, system: boolean): ServiceFile {
  const { environment } = io;
  return serviceFile({ platform: process.platform, environment, home: homeOf(environment).folder, system });
}

function write({ file, text, mode }: ServiceFile): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    chmodSync(file, mode);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EPERM") throw error;
    throw new PostriderError(
      "not_allowed",
      `${file} cannot be written: ${message}. With --system, use sudo.`,
      {
        cause: error,
        details: { file },
      },
    );
  }
}

function has(file: string): boolean {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}

function run([program = "", ...args]: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (error !== undefined || status !== 0) {
    const why = error?.message ?? `it ended with code ${status}`;
    throw new PostriderError("internal", `${[program, ...args].join(" ")} failed: ${why}.`);
  }
}

function serviceJson(
  { file }: ServiceFile,
  commands: readonly (readonly string[])[],
): Record<string, unknown> {
  return { file, commands: commands.map((command) => command.join(" ")) };
}

function tellInstalled(io: Io, service: ServiceFile, isEnabled: boolean): void {
  const home = readyHome(io);
  say(io, `${service.file} is written.`);
  if (isEnabled) note(io, `It is enabled and runs; look at it with ${service.look.join(" ")}`);
  else note(io, `Enable and start it:\n${commandLines(service.enable)}`);
  note(
    io,
    `Keys that are only in your shell are not known to a service. Put the model's into the configuration (postrider config set model.api_key -)${
      service.file.endsWith(".service") ? `, or NAME=value lines into ${home.folder}/gateway.env` : ""
    }.`,
  );
}

function commandLines(commands: readonly (readonly string[])[]): string {
  return commands.map((command) => `  ${command.join(" ")}`).join("\n");
}
