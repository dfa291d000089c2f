import { runCachedConversation } from "../test/support/cached-conversation.ts";
import type { Report } from "./goals.ts";

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** The share of each request that repeats the request before it from its beginning, which a provider reads from its cache. */
export async function promptCache(report: Report): Promise<void> {
  report.heading("What a provider can read from its cache, ten turns with two tool calls each");
  const requests = await runCachedConversation(10);
  const rows = [2, 5, 10].map((turn) => {
    const [first, second] = requests.filter((request) => request.turn === turn);
    return [
      String(turn),
      String(first?.characters ?? 0),
      percent(first?.share ?? 0),
      percent(second?.share ?? 0),
    ];
  });
  report.table(["turn", "characters", "asked", "with the tools' results"], rows);
  report.note("");
  for (const turn of [2, 10]) {
    const share = requests.find((request) => request.turn === turn)?.share ?? 0;
    report.goal(`share of the request from the cache, turn ${turn}`, share, { atLeast: 0.95 });
  }
}
