import { policyWords } from "../../core/decision-words.ts";
import { platformTraits } from "../../core/platforms.ts";
import { type ChatCommand, escaped } from "./command.ts";

export const platforms: ChatCommand = {
  name: "platforms",
  aliases: ["gateway"],
  summary: "what is connected, home channels, and when conversations start afresh",
  looks: true,
  async run(place) {
    const { store, role, policy, zone } = place;
    const held = await store.leases({ now: place.now() });
    const connected = held.flatMap(({ name, about }) => {
      const [, platform, account] = /^platform:([^:]+):(.*)$/s.exec(name) ?? [];
      if (platform === undefined) return [];
      const as = about ?? account ?? "";
      return [`- ${platformTraits(platform).label}${as === "" ? "" : ` as ${escaped(as)}`}: connected`];
    });
    // Where the owner reads is nobody else's business.
    const homes = role === "owner" ? await store.homes() : [];
    return {
      text: [
        ...(connected.length === 0 ? ["- No messenger is connected."] : connected),
        ...homes.map(
          ({ platform, name, chatId }) =>
            `- home of ${platformTraits(platform).label}: ${escaped(name)} (\`${chatId}\`)`,
        ),
        `- conversations here: ${policy.mode === "none" ? "" : "start afresh "}${policyWords(policy, zone)}`,
      ].join("\n"),
    };
  },
};
