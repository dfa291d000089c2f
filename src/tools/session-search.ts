import { ROLES, type Role, textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

const DEFAULT_SESSIONS = 3;
const MOST_SESSIONS = 5;

export function sessionSearchTool(hands: ToolContext): Tool {
  const isGroup = "chat" in hands.asker && hands.asker.chat !== undefined;
  return {
    name: "session_search",
    description: [
      isGroup
        ? "Finds what was said in earlier sessions of this chat, and in no other."
        : "Finds what was said in earlier sessions of the person you talk with.",
      "With a query, gives excerpts: the messages around what was found, word for word, of a few sessions. Nobody sums them up; search again with other words if they do not tell enough.",
      'All words must stand in one message; "a phrase", word*, OR and -word work, too.',
      "Without a query, lists the newest sessions.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        query: { type: "string", description: "What to look for; blank lists the newest sessions." },
        role_filter: {
          type: "string",
          description: "Only what these said, with commas between: user, assistant.",
        },
        limit: {
          type: ["number", "string"],
          description: `How many sessions: ${DEFAULT_SESSIONS} unless given, ${MOST_SESSIONS} at most.`,
        },
      },
      additionalProperties: false,
    },
    effect: "none",
    async run(value) {
      const given = toToolArguments(value);
      const query = (readTextArgument(given, "query") ?? "").trim();
      const limit = parseLimit(given.limit);
      const { listRecentSessions: recent, searchEarlierSessions: found } = await import(
        "./earlier-sessions.ts"
      );
      const answer = await (query === ""
        ? recent(hands, limit)
        : found(hands, query, parseRoles(readTextArgument(given, "role_filter")), limit));
      return { parts: [textPart(JSON.stringify(answer, null, 2))] } satisfies ToolOutput;
    },
  };
}

/** Whatever it was given as: something is always shown, and never too much. */
function parseLimit(given: unknown): number {
  const number = typeof given === "string" && given.trim() !== "" ? Number(given) : given;
  if (typeof number !== "number" || Number.isNaN(number)) return DEFAULT_SESSIONS;
  return Math.max(1, Math.min(MOST_SESSIONS, Math.trunc(number)));
}

/** Names that are none are passed over; if nothing is left of them, everybody's words count. */
function parseRoles(given: string | undefined): readonly Role[] | undefined {
  const names = (given ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const roles = ROLES.filter((role) => names.includes(role));
  return roles.length === 0 ? undefined : roles;
}
