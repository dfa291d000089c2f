import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import { resolveHome } from "../../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, printJson, printLine, printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";
import { buildServiceFile, type ServiceFile } from "./service-file.ts";

const SYSTEM_OPTION = {
  type: "flag",
  help: "for the whole machine, not only while you are logged in",
} as const;

export const installGatewayCommand: Command = defineCommand({
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
    const service = buildService(io, values.system);
    if (values.print && !values.json) {
      io.output.write(service.text);
      return Promise.resolve();
    }
    if (!values.print) writeServiceFile(service);
    if (values.enable && !values.print) service.enable.forEach(runServiceCommand);
    if (values.json)
      printJson(io, {
        ...formatServiceJson(service, service.enable),
        written: !values.print,
        text: service.text,
      });
    else printInstalled(io, service, values.enable);
    return Promise.resolve();
  },
});

export const uninstallGatewayCommand: Command = defineCommand({
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
    const service = buildService(io, values.system);
    const isThere = isReadableFile(service.file);
    if (isThere && values.disable) service.disable.forEach(runServiceCommand);
    rmSync(service.file, { force: true });
    if (values.json) printJson(io, { ...formatServiceJson(service, service.disable), removed: isThere });
    else if (!isThere) printLine(io, `There is no ${service.file}.`);
    else {
      printLine(io, `${service.file} is removed.`);
      if (!values.disable) printNotice(io, `If it still runs:\n${formatCommands(service.disable)}`);
    }
    return Promise.resolve();
  },
});

function buildService(io: Io, system: boolean): ServiceFile {
  const { environment } = io;
  return buildServiceFile({
    platform: process.platform,
    environment,
    home: resolveHome(environment).folder,
    system,
  });
}

function writeServiceFile({ file, text, mode }: ServiceFile): void {
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

function isReadableFile(file: string): boolean {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}

function runServiceCommand([program = "", ...args]: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (error !== undefined || status !== 0) {
    const why = error?.message ?? `it ended with code ${status}`;
    throw new PostriderError("internal", `${[program, ...args].join(" ")} failed: ${why}.`);
  }
}

function formatServiceJson(
  { file }: ServiceFile,
  commands: readonly (readonly string[])[],
): Record<string, unknown> {
  return { file, commands: commands.map((command) => command.join(" ")) };
}

function printInstalled(io: Io, service: ServiceFile, isEnabled: boolean): void {
  const home = prepareHome(io);
  printLine(io, `${service.file} is written.`);
  if (isEnabled)
    printNotice(io, `It is enabled and runs; look at it with ${service.statusCommand.join(" ")}`);
  else printNotice(io, `Enable and start it:\n${formatCommands(service.enable)}`);
  printNotice(
    io,
    `Keys that are only in your shell are not known to a service. Put the model's into the configuration (postrider config set model.api_key -)${
      service.file.endsWith(".service") ? `, or NAME=value lines into ${home.folder}/gateway.env` : ""
    }.`,
  );
}

function formatCommands(commands: readonly (readonly string[])[]): string {
  return commands.map((command) => `  ${command.join(" ")}`).join("\n");
}
