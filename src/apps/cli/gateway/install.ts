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
  help: "install for the whole machine; it starts without a login",
} as const;

export const installGatewayCommand: Command = defineCommand({
  name: "gateway install",
  about: `Writes a service file for systemd or launchd, which starts the gateway and restarts it after a crash, and prints the
commands that enable it. It starts nothing without --enable.`,
  options: {
    print: { type: "flag", help: "only print the file" },
    system: SYSTEM_OPTION,
    enable: { type: "flag", help: "also enable and start the service" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider gateway install", "install a service for your user"],
    ["postrider gateway install --print", "look at the file first"],
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
  about: "Removes the file that gateway install wrote. Disable an enabled service first.",
  options: {
    system: SYSTEM_OPTION,
    disable: { type: "flag", help: "stop and disable the service first" },
    json: JSON_OPTION,
  },
  examples: [["postrider gateway uninstall --disable", "stop and remove the service"]],
  run({ values }, io) {
    const service = buildService(io, values.system);
    const isThere = isReadableFile(service.file);
    if (isThere && values.disable) service.disable.forEach(runServiceCommand);
    rmSync(service.file, { force: true });
    if (values.json) printJson(io, { ...formatServiceJson(service, service.disable), removed: isThere });
    else if (!isThere) printLine(io, `${service.file} does not exist.`);
    else {
      printLine(io, `${service.file} is removed.`);
      if (!values.disable)
        printNotice(io, `If the service still runs, disable it:\n${formatCommands(service.disable)}`);
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
    throw new PostriderError("not_allowed", `Cannot write ${file}: ${message}. Use sudo with --system.`, {
      cause: error,
      details: { file },
    });
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
    const reason = error?.message ?? `exit code ${status}`;
    throw new PostriderError("internal", `${[program, ...args].join(" ")} failed: ${reason}.`);
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
    printNotice(io, `The service is enabled and running. Check it with: ${service.statusCommand.join(" ")}`);
  else printNotice(io, `Enable and start the service:\n${formatCommands(service.enable)}`);
  printNotice(
    io,
    `A service does not see the environment of your shell. Put the model's key into the configuration (postrider config set model.api_key -)${
      service.file.endsWith(".service") ? `, or put NAME=value lines into ${home.folder}/gateway.env` : ""
    }.`,
  );
}

function formatCommands(commands: readonly (readonly string[])[]): string {
  return commands.map((command) => `  ${command.join(" ")}`).join("\n");
}
