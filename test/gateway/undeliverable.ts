import { isMarkedAsRepeated } from "../../src/core/repetition.ts";
import { shownIn } from "./drive.ts";
import { chances, driveLoad, type LoadReport } from "./load.ts";
import type { Witnessed } from "./protocol.ts";
import { marksIn } from "./verdict.ts";

export interface UndeliverablePlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  readonly progress?: (text: string) => void;
}

export interface UndeliverableReport extends LoadReport {
  /** Texts with an answer, or a part of one, that the messenger never accepts. */
  readonly stuck: number;
  /** Notices about these, without repeated ones. */
  readonly notices: number;
  /** Wrong number of notices for a person. */
  readonly toldWrong: readonly string[];
  readonly disordered: readonly string[];
}

const PEOPLE = 16;
export const NOTICE: RegExp = /could not be delivered here/;
const STUCK_WORD = /\bstuck(?:last)?\b/;

/**
 * People write over a messenger that always answers some of the bot's messages with an error: their first or their last
 * part. Everything else arrives in order, with one notice in its position for each, even if the gateway is killed.
 */
export async function driveUndeliverable(plan: UndeliverablePlan): Promise<UndeliverableReport> {
  const { folder, seed, kills, progress } = plan;
  const report = await driveLoad({
    folder,
    seed,
    kills,
    people: PEOPLE,
    outbound: "idempotent",
    ...(progress !== undefined && { progress }),
    variant: {
      lifeMs: 6000,
      // Without late updates, so that the order of the texts is known.
      messenger: { stuck: true, chances: { ...chances(seed), late: 0, duplicate: 0 } },
      words: (random, { place }) => {
        const chance = random.next();
        if (chance < 0.12) return " stuck";
        return chance < 0.16 && place.type === "dm" ? " long 2500 stucklast" : "";
      },
    },
  });
  const { witnessed } = report;
  const stuck = witnessed.filter((event) => event.kind === "said" && STUCK_WORD.test(event.text));
  const notices = noticesIn(witnessed);
  return {
    ...report,
    stuck: stuck.length,
    notices: notices.length,
    toldWrong: toldWrongIn(witnessed, report.told),
    disordered: disorderedIn(witnessed),
  };
}

function noticesIn(witnessed: readonly Witnessed[]) {
  return shownIn(witnessed).filter(({ text }) => NOTICE.test(text) && !isMarkedAsRepeated(text));
}

/** In each chat: one notice for each stuck answer. An answer may be to several texts; a turn that was given up has none. */
function toldWrongIn(witnessed: readonly Witnessed[], told: readonly string[]): string[] {
  const noticed = Map.groupBy(noticesIn(witnessed), ({ chat }) => chat);
  const said = witnessed.filter((event) => event.kind === "said");
  return [...Map.groupBy(said, ({ chat }) => chat)].flatMap(([chat, texts]) => {
    const stuck = texts.filter(({ text }) => STUCK_WORD.test(text));
    const count = noticed.get(chat)?.length ?? 0;
    if (count > stuck.length) return [`${chat} was told ${count} times of ${stuck.length}`];
    // Lost texts belong to the verdict; these are the last parts of answered texts.
    const parts = stuck.filter(
      ({ text }) => /stucklast/.test(text) && !told.includes(marksIn(text)[0] ?? ""),
    );
    return parts.length > 0 && count === 0 ? [`${chat} was never told of a part`] : [];
  });
}

/** Answers to one person in another order than their texts. */
export function disorderedIn(witnessed: readonly Witnessed[]): string[] {
  const order = new Map<string, number>();
  const last = new Map<string, { readonly mark: string; readonly at: number }>();
  const seen = new Set<string>();
  const found: string[] = [];
  for (const event of witnessed) {
    if (event.kind === "said") for (const mark of marksIn(event.text)) order.set(mark, order.size);
    if (event.kind !== "sent" || isMarkedAsRepeated(event.text)) continue;
    for (const mark of marksIn(event.text)) {
      if (seen.has(mark)) continue;
      seen.add(mark);
      const person = mark.slice(1, mark.lastIndexOf("-"));
      const at = order.get(mark) ?? 0;
      const before = last.get(person);
      if (before !== undefined && before.at > at) found.push(`${mark} stands behind ${before.mark}`);
      last.set(person, { mark, at });
    }
  }
  return found;
}
