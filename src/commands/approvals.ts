import type { Approval, Standing } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { chatOf } from "../core/owner.ts";
import { plural } from "../core/plural.ts";
import { mayBeNamed } from "./approve.ts";
import { type ChatCommand, escaped, nameOf, type Place, personOf, type Reply, shortened } from "./command.ts";
import { distance } from "./when.ts";

/** What the agent waits for, and what it need not ask any more. */
export const approvals: ChatCommand = {
  name: "approvals",
  takes: "[forget NUMBER]",
  summary: "what waits for your answer, and what you have said once for all",
  async run(place, args) {
    const [verb = "", number = "", ...more] = args.toLowerCase().split(/\s+/).filter(Boolean);
    if (verb === "") return list(place);
    if (verb === "forget" && /^\d{1,6}$/.test(number) && more.length === 0)
      return forget(place, Number(number));
    throw new PostriderError(
      "invalid_input",
      "Write /approvals for the list, or /approvals forget NUMBER with a number of it.",
    );
  },
};

async function list(place: Place): Promise<Reply> {
  const now = place.now();
  const waiting = (await place.store.approvals({ person: personOf(place) })).filter(
    ({ deadline }) => deadline >= now,
  );
  const named = waiting.filter((asked) => mayBeNamed(place, asked));
  const elsewhere = waiting.length - named.length;
  const said = await standings(place);
  if (waiting.length === 0 && said.length === 0)
    return {
      text: `Nothing waits for your answer, and nothing is allowed or forbidden for good.${unnamed(place)}`,
    };
  const lines = [
    ...(waiting.length === 0 ? ["Nothing waits for your answer."] : ["**Waiting for your answer**"]),
    ...named.map((asked) => `- ${question(asked, now)}`),
    ...(elsewhere === 0 ? [] : [`- ${plural(elsewhere, "question")} that you were asked in another chat`]),
    ...(said.length === 0 ? [] : ["", "**Said once for all**"]),
    ...(await Promise.all(said.map(async (one, index) => `${index + 1}. ${await standing(place, one)}`))),
    ...(said.length === 0 ? [] : ["", "`/approvals forget NUMBER` takes one back."]),
  ];
  return { text: `${lines.join("\n")}${unnamed(place)}` };
}

async function forget(place: Place, number: number): Promise<Reply> {
  const found = (await standings(place))[number - 1];
  const asked = { person: personOf(place), now: place.now() };
  const isGone =
    found !== undefined &&
    (await place.store.forgetStanding({
      ...asked,
      pattern: found.pattern,
      ...(found.folder !== undefined && { folder: found.folder }),
      ...(found.session !== undefined && { session: found.session }),
    }));
  if (!isGone)
    throw new PostriderError("not_found", `There is no number ${number} in the list. /approvals shows it.`);
  return { text: `Taken back; it is asked again from now on: ${inCode(found.pattern)}${inFolder(found)}` };
}

/** In a chat with others only what belongs to the session there: the rest was said elsewhere. */
async function standings(place: Place): Promise<readonly Standing[]> {
  const all = await place.store.standings({ person: personOf(place) });
  if (chatOf(place.source) === undefined) return all;
  const here = (await place.talk.look())?.session.id;
  return all.filter(({ session }) => session !== undefined && session === here);
}

function unnamed({ source }: Place): string {
  return chatOf(source) === undefined
    ? ""
    : "\n\nOthers read along here, so what you said elsewhere is not named. Ask in a direct chat for all of it.";
}

function question({ number, request, askedAt, deadline }: Approval, now: number): string {
  const title = escaped(shortened(request.title, 120));
  return `${number}: ${title}, asked ${distance(askedAt, now)}, open ${leftUntil(deadline, now)}; \`/approve ${number}\` or \`/deny ${number}\``;
}

async function standing(place: Place, said: Standing): Promise<string> {
  const { pattern, kind, session, folder, at } = said;
  const found = session === undefined ? undefined : await place.sessions.get(place.who, session);
  const everywhere = folder === undefined ? "everywhere" : "in every session";
  const where = session === undefined ? everywhere : found ? `in ${nameOf(found)}` : "in one session";
  return `${kind === "never" ? "never" : "allowed"} ${where}: ${inCode(pattern)}${inFolder(said)}, said ${distance(at, place.now())}`;
}

function inFolder({ folder }: Pick<Standing, "folder">): string {
  return folder === undefined ? "" : ` in ${inCode(folder)}`;
}

function inCode(pattern: string): string {
  return `\`${shortened(pattern.replaceAll("`", "'"), 120)}\``;
}

function leftUntil(deadline: number, now: number): string {
  const left = distance(deadline, now);
  return left === "now" ? "for less than a minute" : `for ${left.replace("in ", "")} more`;
}
