import { PostriderError } from "../core/errors.ts";
import { OWNER } from "../core/owner.ts";
import { platformTraits } from "../core/platforms.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type CommandReply,
  escapeMarkdown,
  formatTimeUntil,
  isTerminal,
} from "./command.ts";
import * as pairing from "./pairing.ts";

export const pairChatCommand: ChatCommand = {
  name: "pair",
  parameters: "CODE | approve CODE | list",
  summary: "say who you are by a code, or let somebody in",
  editorRefusal: "Pair people in the terminal: postrider pair.",
  async run(context, args) {
    const [, verb = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(args) ?? [];
    if (verb === "approve") return approveCode(requireOwner(context, "approve"), rest);
    if (verb === "list") return listOpenPairings(requireOwner(context, "list"));
    if (args === "") throw new PostriderError("invalid_input", formatUsage(context));
    return linkByCode(context, args);
  },
};

/** The account that speaks here becomes the code's person's. */
export async function linkByCode(context: ChatCommandContext, code: string): Promise<CommandReply> {
  if (context.role === "owner")
    return { text: "You are the owner already. To let somebody in: /pair approve CODE" };
  const { store, source } = context;
  const { person } = throwIfRefused(await pairing.redeemLinkCode({ store, clock: context, source, code }));
  const whose = person === OWNER ? "the owner's" : "yours";
  return {
    text: `This account is ${whose} now: you reach all your sessions from here. /sessions lists them.`,
    moved: true,
  };
}

async function approveCode(context: ChatCommandContext, code: string): Promise<CommandReply> {
  const { asker } = throwIfRefused(
    await pairing.approvePairing({ store: context.store, clock: context, code }),
  );
  return { text: `${formatAsker(asker)} is let in, and told so.` };
}

async function listOpenPairings(context: ChatCommandContext): Promise<CommandReply> {
  const now = context.now();
  const open = await context.store.access.listPairings({ now });
  const rows = open.map(({ asker, platform, askedAt, expiresAt }) => {
    const good = `good for ${formatTimeUntil(expiresAt, now).replace("in ", "")} more`;
    return asker === undefined
      ? `- a code for an account of ${platformTraits(platform).label} that is not given yet, ${good}`
      : `- ${formatAsker(asker)}, asked ${formatTimeUntil(askedAt, now)}, ${good}`;
  });
  if (rows.length === 0) return { text: "Nobody asks to be let in." };
  return { text: [...rows, "", "`/pair approve CODE` lets in whoever gives you that code."].join("\n") };
}

function requireOwner(context: ChatCommandContext, verb: string): ChatCommandContext {
  if (context.role !== "owner")
    throw new PostriderError("not_allowed", `Only the owner of this home may give /pair ${verb}.`);
  if (verb === "list" && !isTerminal(context) && context.source.chatType !== "dm")
    throw new PostriderError("not_allowed", "Others read along here. Ask that in a direct chat.");
  return context;
}

function formatUsage({ role }: ChatCommandContext): string {
  return role === "owner"
    ? "Write /pair approve CODE to let somebody in, or /pair list to see who asks."
    : "Write /pair CODE, with the code that postrider pair link gave on the command line.";
}

function formatAsker({ platform, userName, userId, userIdAlt, chatId }: Source): string {
  const id = userId ?? userIdAlt ?? chatId;
  const who = userName === undefined ? "" : `**${escapeMarkdown(userName)}** `;
  return `${who}(\`${id}\` on ${platformTraits(platform).label})`;
}
