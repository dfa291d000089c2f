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
  /** Texts with an answer, or a part of one, that the messenger never takes. */
  readonly stuck: number;
  /** Notices of these, not counting those that say that they are repeated. */
  readonly notices: number;
  /** Somebody was told more often than there was something to tell, or not at all. */
  readonly toldWrong: readonly string[];
  readonly disordered: readonly string[];
}

const PEOPLE = 16;
export const NOTICE: RegExp = /could not be delivered here/;
const STUCK_WORD = /\bstuck(?:last)?\b/;

/**
 * People talk over a messenger that answers some of the bot's messages with an error, for ever: their first part or their
 * last. Everything else arrives, in order, and each is told of once, in its place, however often the gateway is killed.
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
      // Without updates that come late, so that the order of the texts is known.
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

/** In each chat: one notice for each stuck answer. An answer may be to several texts, and a turn given up has none. */
function toldWrongIn(witnessed: readonly Witnessed[], told: readonly string[]): string[] {
  const noticed = Map.groupBy(noticesIn(witnessed), ({ chat }) => chat);
  const said = witnessed.filter((event) => event.kind === "said");
  return [...Map.groupBy(said, ({ chat }) => chat)].flatMap(([chat, texts]) => {
    const stuck = texts.filter(({ text }) => STUCK_WORD.test(text));
    const count = noticed.get(chat)?.length ?? 0;
    if (count > stuck.length) return [`${chat} was told ${count} times of ${stuck.length}`];
    // Lost texts are the verdict's matter; here it is the last parts, whose text has been answered.
    const parts = stuck.filter(
      ({ text }) => /stucklast/.test(text) && !told.includes(marksIn(text)[0] ?? ""),
    );
    return parts.length > 0 && count === 0 ? [`${chat} was never told of a part`] : [];
  });
}

/** Answers of one person that stand in another order than their texts. */
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
