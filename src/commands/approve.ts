import type { Approval, ApprovalAnswer } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { getChatAudience } from "../core/owner.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  escapeMarkdown,
  formatTimeUntil,
  getAskerPerson,
} from "./command.ts";

/** Answers are given by a command or a button alone: a "yes" may have been meant for something else. */
export const approveChatCommand: ChatCommand = {
  name: "approve",
  aliases: ["allow"],
  parameters: "[NUMBER] [once | session | always]",
  summary: "let the agent do what it asked for: once, unless said",
  async run(context, args) {
    const { number, how } = parseArguments(args);
    const answer = how === "" ? "once" : ANSWERS[how];
    if (answer === undefined) {
      throw new PostriderError(
        "invalid_input",
        "Write /approve for this once, /approve session for this session, or /approve always.",
      );
    }
    const approval = await answerQuestion(context, number, answer);
    return {
      text: `${formatAllowed(context, approval, answer)}: ${escapeMarkdown(getTitle(context, approval))}`,
    };
  },
};

export const denyChatCommand: ChatCommand = {
  name: "deny",
  parameters: "[NUMBER] [never]",
  summary: "do not let the agent do what it asked for: this once, unless said",
  async run(context, args) {
    const { number, how } = parseArguments(args);
    if (how !== "" && how !== "never")
      throw new PostriderError("invalid_input", "Write /deny for this once, or /deny never for good.");
    const approval = await answerQuestion(context, number, how === "never" ? "never" : "deny");
    const isForGood = how === "never" && approval.request.pattern !== undefined;
    return {
      text: `Not done${isForGood ? ", now and from now on" : ""}: ${escapeMarkdown(getTitle(context, approval))}`,
    };
  },
};

const ANSWERS: Readonly<Record<string, ApprovalAnswer | undefined>> = {
  once: "once",
  session: "session",
  ses: "session",
  always: "always",
  permanent: "always",
  permanently: "always",
};

/** A number names the question, as a button of one does; else the oldest is meant. */
function parseArguments(args: string): { readonly number?: number; readonly how: string } {
  const [, number, how = ""] = /^#?(\d{1,15})?\s*(.*)$/s.exec(args.toLowerCase()) ?? [];
  return { how: how.trim(), ...(number !== undefined && { number: Number(number) }) };
}

async function answerQuestion(
  context: ChatCommandContext,
  number: number | undefined,
  answer: ApprovalAnswer,
): Promise<Approval> {
  const { store } = context;
  const person = getAskerPerson(context);
  const now = context.now();
  const approval = number ?? (await findOldest(context))?.number;
  if (approval === undefined) throw new PostriderError("not_found", "Nothing waits to be approved.");
  return throwIfRefused(await store.access.answerApproval({ person, approval, answer, now }));
}

/** The oldest of this person's that waits here, else anywhere. One whose time is over is closed and said. */
async function findOldest(context: ChatCommandContext): Promise<Approval | undefined> {
  const { store } = context;
  const person = getAskerPerson(context);
  const now = context.now();
  const conversation = (await context.chat.findCurrent())?.conversation.number;
  const all = await store.access.listApprovals({ person });
  const isOpen = ({ deadline }: Approval): boolean => deadline >= now;
  const here = all.filter((one) => one.conversation === conversation);
  const open = here.find(isOpen) ?? all.find(isOpen);
  const [late] = [...here, ...all];
  if (open !== undefined || late === undefined) return open;
  // Whoever asked is gone, or about to give it up.
  const closed = await store.access.answerApproval({ person, approval: late.number, answer: "expired", now });
  if (isRefused(closed) && closed.refused !== "expired") throwIfRefused(closed);
  throw new PostriderError(
    "expired",
    `That was asked ${formatTimeUntil(late.askedAt, now)} and is too old to be answered; it is not done: ${getTitle(context, late)}`,
  );
}

/** In a chat with others, what was asked elsewhere is not named. */
export function canBeNamed({ source }: ChatCommandContext, { target }: Approval): boolean {
  const chat = getChatAudience(source);
  return chat === undefined || chat === getChatAudience(target);
}

function getTitle(context: ChatCommandContext, approval: Approval): string {
  return canBeNamed(context, approval) ? approval.request.title : "what you were asked in another chat";
}

function formatAllowed(context: ChatCommandContext, approval: Approval, answer: ApprovalAnswer): string {
  const { pattern, folder, onlyOnce } = approval.request;
  if (answer === "once") return "Allowed this once";
  if (onlyOnce) return "Allowed this once, as a yes to this is for one time only";
  if (pattern === undefined) return "Allowed this once, as nothing like it can be recognised";
  const where = folder === undefined ? "" : ` in ${formatCode(folder)}`;
  const what = canBeNamed(context, approval) ? ` for ${formatCode(pattern)}${where}` : "";
  return `Allowed ${answer === "session" ? "in this session" : "from now on"}${what}`;
}

function formatCode(words: string): string {
  return `\`${words.replaceAll("`", "'")}\``;
}
