import { policyWords } from "../core/decision-words.ts";
import { nextReset } from "../core/reset-instants.ts";
import { clockTime } from "../core/transcript.ts";
import { type ChatCommand, here, nameOf, type Place } from "./command.ts";
import { distance } from "./when.ts";

export const where: ChatCommand = {
  name: "where",
  summary: "which session this is, by which key, and when it would start afresh",
  looks: true,
  async run(place) {
    const { conversation, session } = await here(place);
    const [decision] = await place.sessions.decisions(place.who, conversation.number);
    const lines = [
      `- session ${nameOf(session)}, ${session.id}`,
      `- key \`${conversation.key}\``,
      `- ${policyLine(place)}`,
      `- ${resetLine(place, conversation.activeAt)}`,
    ];
    if (decision !== undefined) {
      const why = decision.reason === undefined ? "" : ` (${decision.reason})`;
      lines.push(`- last decision: ${decision.decision}${why}, ${clockTime(decision.at, place.zone)}`);
    }
    return { text: lines.join("\n") };
  },
};

function policyLine({ policy, zone }: Place): string {
  return policy.mode === "none"
    ? "policy: never starts afresh by itself"
    : `policy: starts afresh ${policyWords(policy, zone)}`;
}

function resetLine({ policy, zone, now }: Place, activeAt: number): string {
  const next = nextReset(activeAt, policy, zone);
  const spoken = `last active ${clockTime(activeAt, zone)}`;
  if (next === undefined) return `${spoken}; nothing will end it`;
  const why = next.reason === "idle" ? "for silence" : "by the daily hour";
  return `${spoken}; if nothing more is said, a new session begins ${clockTime(next.at, zone)} (${distance(next.at, now())}), ${why}`;
}
