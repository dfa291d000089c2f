import type { Approval, ApprovalAnswer } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { chatOf } from "../core/owner.ts";
import { isRefused, unrefused } from "../core/refusal.ts";
import { type ChatCommand, escaped, type Place, personOf } from "./command.ts";
import { distance } from "./when.ts";

/** Answers are given by a command or a button alone: a "yes" may have been meant for something else. */
export const approve: ChatCommand = {
  name: "approve",
  aliases: ["allow"],
  takes: "[NUMBER] [once | session | always]",
  summary: "let the agent do what it asked for: once, unless said",
  async run(place, args) {
    const { number, how } = asked(args);
    const answer = how === "" ? "once" : HOW[how];
    if (answer === undefined) {
      throw new PostriderError(
        "invalid_input",
        "Write /approve for this once, /approve session for this session, or /approve always.",
      );
    }
    const approval = await answered(place, number, answer);
    return { text: `${allowedWords(place, approval, answer)}: ${escaped(titleOf(place, approval))}` };
  },
};

export const deny: ChatCommand = {
  name: "deny",
  takes: "[NUMBER] [never]",
  summary: "do not let the agent do what it asked for: this once, unless said",
  async run(place, args) {
    const { number, how } = asked(args);
    if (how !== "" && how !== "never")
      throw new PostriderError("invalid_input", "Write /deny for this once, or /deny never for good.");
    const approval = await answered(place, number, how === "never" ? "never" : "deny");
    const isForGood = how === "never" && approval.request.pattern !== undefined;
    return {
      text: `Not done${isForGood ? ", now and from now on" : ""}: ${escaped(titleOf(place, approval))}`,
    };
  },
};

const HOW: Readonly<Record<string, ApprovalAnswer | undefined>> = {
  once: "once",
  session: "session",
  ses: "session",
  always: "always",
  permanent: "always",
  permanently: "always",
};

/** A number names the question, as a button of one does; else the oldest is meant. */
function asked(args: string): { readonly number?: number; readonly how: string } {
  const [, number, how = ""] = /^#?(\d{1,15})?\s*(.*)$/s.exec(args.toLowerCase()) ?? [];
  return { how: how.trim(), ...(number !== undefined && { number: Number(number) }) };
}

async function answered(place: Place, number: number | undefined, answer: ApprovalAnswer): Promise<Approval> {
  const { store } = place;
  const person = personOf(place);
  const now = place.now();
  const approval = number ?? (await oldest(place))?.number;
  if (approval === undefined) throw new PostriderError("not_found", "Nothing waits to be approved.");
  return unrefused(await store.answerApproval({ person, approval, answer, now }));
}

/** The oldest of this person's that waits here, else anywhere. One whose time is over is closed and said. */
async function oldest(place: Place): Promise<Approval | undefined> {
  const { store } = place;
  const person = personOf(place);
  const now = place.now();
  const conversation = (await place.talk.look())?.conversation.number;
  const all = await store.approvals({ person });
  const isOpen = ({ deadline }: Approval): boolean => deadline >= now;
  const here = all.filter((one) => one.conversation === conversation);
  const open = here.find(isOpen) ?? all.find(isOpen);
  const [late] = [...here, ...all];
  if (open !== undefined || late === undefined) return open;
  // Whoever asked is gone, or about to give it up.
  const closed = await store.answerApproval({ person, approval: late.number, answer: "expired", now });
  if (isRefused(closed) && closed.refused !== "expired") unrefused(closed);
  throw new PostriderError(
    "expired",
    `That was asked ${distance(late.askedAt, now)} and is too old to be answered; it is not done: ${titleOf(place, late)}`,
  );
}

/** In a chat with others, what was asked elsewhere is not named. */
export function mayBeNamed({ source }: Place, { target }: Approval): boolean {
  const chat = chatOf(source);
  return chat === undefined || chat === chatOf(target);
}

function titleOf(place: Place, approval: Approval): string {
  return mayBeNamed(place, approval) ? approval.request.title : "what you were asked in another chat";
}

function allowedWords(place: Place, approval: Approval, answer: ApprovalAnswer): string {
  const { pattern, folder, onlyOnce } = approval.request;
  if (answer === "once") return "Allowed this once";
  if (onlyOnce) return "Allowed this once, as a yes to this is for one time only";
  if (pattern === undefined) return "Allowed this once, as nothing like it can be recognised";
  const where = folder === undefined ? "" : ` in ${inCode(folder)}`;
  const what = mayBeNamed(place, approval) ? ` for ${inCode(pattern)}${where}` : "";
  return `Allowed ${answer === "session" ? "in this session" : "from now on"}${what}`;
}

function inCode(words: string): string {
  return `\`${words.replaceAll("`", "'")}\``;
}
