import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PostriderError } from "../../../core/errors.ts";
import { STORE_LOST_EXIT_CODE } from "../../exit-on-lost-store.ts";

/** A service definition for systemd or launchd. */
export interface ServiceFile {
  readonly file: string;
  readonly text: string;
  readonly mode: number;
  /** The commands that enable the service, in order. */
  readonly enable: readonly (readonly string[])[];
  readonly disable: readonly (readonly string[])[];
  /** The command that shows the state of the service. */
  readonly statusCommand: readonly string[];
}

export interface ServiceFileOptions {
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
  readonly home: string;
  /** A service of the whole machine, which starts without a login. */
  readonly system: boolean;
}

const NAME = "postrider-gateway";
const LABEL = "dev.postrider.gateway";
/** A shutdown takes at most 30 seconds: 20 for answers, 10 for deliveries. */
const STOP_SECONDS = 60;

export function buildServiceFile(options: ServiceFileOptions): ServiceFile {
  if (options.platform === "linux") return buildSystemdUnit(options);
  if (options.platform === "darwin") return buildLaunchdPlist(options);
  throw new PostriderError(
    "not_allowed",
    "postrider gateway install supports only systemd (Linux) and launchd (macOS). Let your system start: postrider gateway run",
  );
}

/** The same distance from the package's root in a clone (src) and in the package (dist). */
const ENTRY = fileURLToPath(new URL("../../../../bin/postrider.mjs", import.meta.url));
const COMMAND: readonly string[] = [process.execPath, ENTRY, "gateway", "run"];

function buildSystemdUnit({ environment, home, system }: ServiceFileOptions): ServiceFile {
  const folder = system
    ? "/etc/systemd/system"
    : join(environment.XDG_CONFIG_HOME || join(homedir(), ".config"), "systemd", "user");
  const control = system ? ["systemctl"] : ["systemctl", "--user"];
  const unit = `${NAME}.service`;
  return {
    file: join(folder, unit),
    mode: 0o644,
    text: `[Unit]
Description=Postrider gateway
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${COMMAND.map((word) => quoteSystemd(word).replaceAll("$", "$$$$")).join(" ")}
Environment=${quoteSystemd(`POSTRIDER_HOME=${home}`)}
# API keys and other variables, one NAME=value per line. Make the file private: chmod 600
EnvironmentFile=-${home.replaceAll("%", "%%")}/gateway.env
${system ? `User=${userInfo().username}\n` : ""}Restart=on-failure
RestartSec=5
# The database was removed or moved: a person must decide which file is the right one.
RestartPreventExitStatus=${STORE_LOST_EXIT_CODE}
TimeoutStopSec=${STOP_SECONDS}
# Background processes of agents continue when the gateway ends.
KillMode=process
UMask=0077

[Install]
WantedBy=${system ? "multi-user.target" : "default.target"}
`,
    enable: [
      [...control, "daemon-reload"],
      [...control, "enable", "--now", unit],
      // Without it, the service ends when the user logs out.
      ...(system ? [] : [["loginctl", "enable-linger", userInfo().username]]),
    ],
    disable: [[...control, "disable", "--now", unit]],
    statusCommand: [...control, "status", unit],
  };
}

/** Quotes a word for systemd and escapes its special characters. */
function quoteSystemd(word: string): string {
  if (/[\n\r\0]/.test(word))
    throw new PostriderError(
      "invalid_input",
      `A path in a service file must not contain a line break: ${word}`,
    );
  return `"${word.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}

function buildLaunchdPlist({ home, system }: ServiceFileOptions): ServiceFile {
  const folder = system ? "/Library/LaunchDaemons" : join(homedir(), "Library", "LaunchAgents");
  const domain = system ? "system" : `gui/${userInfo().uid}`;
  const file = join(folder, `${LABEL}.plist`);
  const words = COMMAND.map((word) => `    <string>${escapeXml(word)}</string>`).join("\n");
  const user = system ? `  <key>UserName</key>\n  <string>${escapeXml(userInfo().username)}</string>\n` : "";
  return {
    file,
    mode: 0o644,
    text: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>POSTRIDER_HOME</key>
    <string>${escapeXml(home)}</string>
  </dict>
${user}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>${STOP_SECONDS}</integer>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
`,
    enable: [["launchctl", "bootstrap", domain, file]],
    disable: [["launchctl", "bootout", `${domain}/${LABEL}`]],
    statusCommand: ["launchctl", "print", `${domain}/${LABEL}`],
  };
}

function escapeXml(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replaceAll(/[&<>"]/g, (character) => names[character] ?? character);
}
