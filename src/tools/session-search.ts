import { ROLES, type Role, textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

const DEFAULT_SESSIONS = 3;
const MAX_SESSIONS = 5;

export function sessionSearchTool(context: ToolContext): Tool {
  const isGroup = "chat" in context.asker && context.asker.chat !== undefined;
  return {
    name: "session_search",
    description: [
      isGroup
        ? "Searches the messages of earlier sessions of this chat only."
        : "Searches the messages of earlier sessions of the person that you talk with.",
      "With a query, returns excerpts of a few sessions: the exact messages around each hit, without a summary. Search again with other words if they are not enough.",
      'One message must contain all words; "a phrase", word*, OR and -word are supported.',
      "Without a query, lists the newest sessions.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        query: { type: "string", description: "The words to search; empty lists the newest sessions." },
        role_filter: {
          type: "string",
          description: "Only messages of these roles, separated by commas: user, assistant.",
        },
        limit: {
          type: ["number", "string"],
          description: `The number of sessions: default ${DEFAULT_SESSIONS}, at most ${MAX_SESSIONS}.`,
        },
      },
      additionalProperties: false,
    },
    effect: "none",
    async run(value) {
      const args = toToolArguments(value);
      const query = (readTextArgument(args, "query") ?? "").trim();
      const limit = parseLimit(args.limit);
      const { listRecentSessions: recent, searchEarlierSessions: found } = await import(
        "./earlier-sessions.ts"
      );
      const answer = await (query === ""
        ? recent(context, limit)
        : found(context, query, parseRoles(readTextArgument(args, "role_filter")), limit));
      return { parts: [textPart(JSON.stringify(answer, null, 2))] } satisfies ToolOutput;
    },
  };
}

/** Accepts any value and limits it to a valid number. */
function parseLimit(args: unknown): number {
  const number = typeof args === "string" && args.trim() !== "" ? Number(args) : args;
  if (typeof number !== "number" || Number.isNaN(number)) return DEFAULT_SESSIONS;
  return Math.max(1, Math.min(MAX_SESSIONS, Math.trunc(number)));
}

/** Ignores unknown roles; without a known role, all roles are searched. */
function parseRoles(args: string | undefined): readonly Role[] | undefined {
  const names = (args ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const roles = ROLES.filter((role) => names.includes(role));
  return roles.length === 0 ? undefined : roles;
}
