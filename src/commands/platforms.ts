import { formatResetPolicy } from "../core/decision-labels.ts";
import type { ConfiguredPlatform } from "../core/gateway-settings.ts";
import { formatHomeOrigin } from "../core/home-channel.ts";
import { platformTraits } from "../core/platforms.ts";
import type { HeldLease } from "../core/runner.ts";
import { type ChatCommand, type ChatCommandContext, escapeMarkdown, findHomeChannels } from "./command.ts";

export const platformsChatCommand: ChatCommand = {
  name: "platforms",
  aliases: ["gateway"],
  summary: "messengers and their state, home channels, and the reset policy",
  isReadOnly: true,
  async run(context) {
    const { store, policy, zone } = context;
    const connections = parseConnections(await store.runners.listLeases({ now: context.now() }));
    const configured = context.configured?.platforms ?? [];
    const others = configured.filter(({ platform }) => !connections.some((one) => one.platform === platform));
    const lines = [
      ...connections.map((connection) => formatConnection(connection, context)),
      ...others.map(formatUnconnected),
    ];
    return {
      text: [
        ...(lines.length === 0 ? ["- No messenger is set up."] : lines),
        ...(await findHomeChannels(context)).map(
          ({ platform, name, chatId, from }) =>
            `- home channel of ${platformTraits(platform).label}: ${escapeMarkdown(name)} (\`${chatId}\`), ${formatHomeOrigin({ from })}`,
        ),
        `- conversations here: ${policy.mode === "none" ? "" : "start afresh "}${formatResetPolicy(policy, zone)}`,
      ].join("\n"),
    };
  },
};

interface Connection {
  readonly platform: string;
  readonly account: string;
  /** In its holder's words: `connecting`, `connected`, or what is wrong. */
  readonly state: string;
}

function parseConnections(leases: readonly HeldLease[]): readonly Connection[] {
  return leases.flatMap(({ name, about: state = "connecting" }) => {
    const [, platform, account] = /^platform:([^:]+):(.*)$/s.exec(name) ?? [];
    return platform === undefined || account === undefined ? [] : [{ platform, account, state }];
  });
}

/** Why something does not work is for the owner, who can mend it. */
function formatConnection({ platform, account, state }: Connection, { role }: ChatCommandContext): string {
  const [word = state] = state.split(":");
  return `- ${platformTraits(platform).label} (\`${account}\`): ${escapeMarkdown(role === "owner" ? state : word)}`;
}

function formatUnconnected({ platform, state }: ConfiguredPlatform): string {
  const { label } = platformTraits(platform);
  if (state === "disabled") return `- ${label}: disabled in the configuration`;
  if (state === "enabled") return `- ${label}: enabled, and no gateway is connected to it`;
  return `- ${label}: in the configuration, but this version cannot connect to it`;
}
