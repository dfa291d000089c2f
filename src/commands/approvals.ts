import type { Approval, ApprovalRule } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { getChatAudience } from "../core/owner.ts";
import { pluralize } from "../core/pluralize.ts";
import { canBeNamed } from "./approve.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type CommandReply,
  escapeMarkdown,
  formatSessionName,
  formatTimeUntil,
  getAskerPerson,
  shortenLine,
} from "./command.ts";

/** What the agent waits for, and what it need not ask any more. */
export const approvalsChatCommand: ChatCommand = {
  name: "approvals",
  parameters: "[forget NUMBER]",
  summary: "what waits for your answer, and what you have said once for all",
  async run(context, args) {
    const [verb = "", number = "", ...more] = args.toLowerCase().split(/\s+/).filter(Boolean);
    if (verb === "") return listApprovals(context);
    if (verb === "forget" && /^\d{1,6}$/.test(number) && more.length === 0)
      return forgetRule(context, Number(number));
    throw new PostriderError(
      "invalid_input",
      "Write /approvals for the list, or /approvals forget NUMBER with a number of it.",
    );
  },
};

async function listApprovals(context: ChatCommandContext): Promise<CommandReply> {
  const now = context.now();
  const waiting = (await context.store.access.listApprovals({ person: getAskerPerson(context) })).filter(
    ({ deadline }) => deadline >= now,
  );
  const named = waiting.filter((asked) => canBeNamed(context, asked));
  const elsewhere = waiting.length - named.length;
  const said = await listRules(context);
  if (waiting.length === 0 && said.length === 0)
    return {
      text: `Nothing waits for your answer, and nothing is allowed or forbidden for good.${formatPrivacyNote(context)}`,
    };
  const lines = [
    ...(waiting.length === 0 ? ["Nothing waits for your answer."] : ["**Waiting for your answer**"]),
    ...named.map((asked) => `- ${formatQuestion(asked, now)}`),
    ...(elsewhere === 0 ? [] : [`- ${pluralize(elsewhere, "question")} that you were asked in another chat`]),
    ...(said.length === 0 ? [] : ["", "**Said once for all**"]),
    ...(await Promise.all(said.map(async (one, index) => `${index + 1}. ${await formatRule(context, one)}`))),
    ...(said.length === 0 ? [] : ["", "`/approvals forget NUMBER` takes one back."]),
  ];
  return { text: `${lines.join("\n")}${formatPrivacyNote(context)}` };
}

async function forgetRule(context: ChatCommandContext, number: number): Promise<CommandReply> {
  const found = (await listRules(context))[number - 1];
  const asked = { person: getAskerPerson(context), now: context.now() };
  const isGone =
    found !== undefined &&
    (await context.store.access.removeApprovalRule({
      ...asked,
      pattern: found.pattern,
      ...(found.folder !== undefined && { folder: found.folder }),
      ...(found.session !== undefined && { session: found.session }),
    }));
  if (!isGone)
    throw new PostriderError("not_found", `There is no number ${number} in the list. /approvals shows it.`);
  return {
    text: `Taken back; it is asked again from now on: ${formatCode(found.pattern)}${formatFolder(found)}`,
  };
}

/** In a chat with others only what belongs to the session there: the rest was said elsewhere. */
async function listRules(context: ChatCommandContext): Promise<readonly ApprovalRule[]> {
  const all = await context.store.access.listApprovalRules({ person: getAskerPerson(context) });
  if (getChatAudience(context.source) === undefined) return all;
  const here = (await context.chat.findCurrent())?.session.id;
  return all.filter(({ session }) => session !== undefined && session === here);
}

function formatPrivacyNote({ source }: ChatCommandContext): string {
  return getChatAudience(source) === undefined
    ? ""
    : "\n\nOthers read along here, so what you said elsewhere is not named. Ask in a direct chat for all of it.";
}

function formatQuestion({ number, request, askedAt, deadline }: Approval, now: number): string {
  const title = escapeMarkdown(shortenLine(request.title, 120));
  return `${number}: ${title}, asked ${formatTimeUntil(askedAt, now)}, open ${formatTimeLeft(deadline, now)}; \`/approve ${number}\` or \`/deny ${number}\``;
}

async function formatRule(context: ChatCommandContext, said: ApprovalRule): Promise<string> {
  const { pattern, kind, session, folder, at } = said;
  const found = session === undefined ? undefined : await context.sessions.get(context.who, session);
  const everywhere = folder === undefined ? "everywhere" : "in every session";
  const where =
    session === undefined ? everywhere : found ? `in ${formatSessionName(found)}` : "in one session";
  return `${kind === "never" ? "never" : "allowed"} ${where}: ${formatCode(pattern)}${formatFolder(said)}, said ${formatTimeUntil(at, context.now())}`;
}

function formatFolder({ folder }: Pick<ApprovalRule, "folder">): string {
  return folder === undefined ? "" : ` in ${formatCode(folder)}`;
}

function formatCode(pattern: string): string {
  return `\`${shortenLine(pattern.replaceAll("`", "'"), 120)}\``;
}

function formatTimeLeft(deadline: number, now: number): string {
  const left = formatTimeUntil(deadline, now);
  return left === "now" ? "for less than a minute" : `for ${left.replace("in ", "")} more`;
}
