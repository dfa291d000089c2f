import { formatResetPolicy } from "../core/decision-labels.ts";
import { nextReset } from "../core/reset-instants.ts";
import { formatClockTime } from "../core/transcript.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  formatSessionName,
  formatTimeUntil,
  requireCurrent,
} from "./command.ts";

export const whereChatCommand: ChatCommand = {
  name: "where",
  summary: "which session this is, by which key, and when it would start afresh",
  isReadOnly: true,
  async run(context) {
    const { conversation, session } = await requireCurrent(context);
    const [decision] = await context.sessions.decisions(context.who, conversation.number);
    const lines = [
      `- session ${formatSessionName(session)}, ${session.id}`,
      `- key \`${conversation.key}\``,
      `- ${formatPolicy(context)}`,
      `- ${formatNextReset(context, conversation.activeAt)}`,
    ];
    if (decision !== undefined) {
      const why = decision.reason === undefined ? "" : ` (${decision.reason})`;
      lines.push(
        `- last decision: ${decision.decision}${why}, ${formatClockTime(decision.at, context.zone)}`,
      );
    }
    return { text: lines.join("\n") };
  },
};

function formatPolicy({ policy, zone }: ChatCommandContext): string {
  return policy.mode === "none"
    ? "policy: never starts afresh by itself"
    : `policy: starts afresh ${formatResetPolicy(policy, zone)}`;
}

function formatNextReset({ policy, zone, now }: ChatCommandContext, activeAt: number): string {
  const next = nextReset(activeAt, policy, zone);
  const spoken = `last active ${formatClockTime(activeAt, zone)}`;
  if (next === undefined) return `${spoken}; nothing will end it`;
  const why = next.reason === "idle" ? "for silence" : "by the daily hour";
  return `${spoken}; if nothing more is said, a new session begins ${formatClockTime(next.at, zone)} (${formatTimeUntil(next.at, now())}), ${why}`;
}
