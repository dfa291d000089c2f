import { getText } from "../../src/core/message.ts";
import { providerHistory } from "../../src/core/projection.ts";
import { type Ask, sentIn } from "./asks.ts";
import type { Evidence } from "./evidence.ts";
import { type Findings, noFindings } from "./findings.ts";
import { checkNotices } from "./notices.ts";
import { checkPrograms } from "./programs.ts";
import { providerComplaints, shapeOf } from "./provider-rules.ts";
import { checkTalk } from "./talk.ts";
import { checkTraces, counted } from "./traces.ts";

export interface Verdict extends Findings {
  readonly asked: number;
  readonly answered: number;
  readonly told: number;
}

/** Judges by the messages that people saw and the files; rows only count if there is no other source. */
export function judge(evidence: Evidence): Verdict {
  const findings = noFindings();
  const all: Ask[] = [];
  for (const [name, own] of Object.entries(evidence.people)) {
    const chat = `dm-${name}`;
    const errands = evidence.errands.filter(({ person }) => person === name);
    const asks = checkTalk(chat, evidence.witnessed, own, findings);
    all.push(...asks.filter((ask) => ask.name !== undefined));
    checkTraces(errands, asks, own, evidence, findings);
    checkPrograms(chat, errands, asks, own, evidence, findings);
    checkNotices(asks, errands, own, evidence, findings);
    checkCrossed(name, evidence, findings);
    checkHistory(name, evidence, findings);
  }
  const known = new Set(
    evidence.errands.flatMap(({ steps }) =>
      steps.flatMap((step) => (step.kind === "command" ? step.lines : [])),
    ),
  );
  for (const line of counted(evidence.effects).keys())
    if (!known.has(line)) findings.broken.push(`nobody asked for ${line}`);
  for (const given of evidence.given)
    findings.broken.push(...providerComplaints(given).map((why) => `a turn was given: ${why}`));
  for (const { pid, command } of evidence.left) findings.broken.push(`${pid} still runs: ${command}`);
  const answered = all.filter(({ answer }) => answer !== undefined).length;
  const told = all.filter(({ notice }) => notice !== undefined).length;
  return { ...findings, asked: all.length, answered, told };
}

/** Wherever a session was interrupted, a provider accepts its history. */
function checkHistory(name: string, { people }: Evidence, findings: Findings): void {
  const history = people[name]?.history ?? [];
  for (let length = 1; length <= history.length; length += 1) {
    const complaints = providerComplaints(providerHistory(history.slice(0, length)).map(shapeOf));
    findings.broken.push(...complaints.map((why) => `${name}, the first ${length} messages: ${why}`));
  }
  const ids = new Set(history.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
  for (const { toolCallId } of history)
    if (toolCallId !== undefined && !ids.has(toolCallId))
      findings.broken.push(`${name}: a result of ${toolCallId}, which nobody called`);
}

/** Everything that names errands of another person. */
function checkCrossed(name: string, { people, witnessed }: Evidence, findings: Findings): void {
  const others = Object.keys(people).filter((other) => other !== name);
  if (others.length === 0) return;
  const foreign = new RegExp(`\\b(?:${others.join("|")})[-.]\\d+`);
  const own = people[name];
  const places: [string, readonly string[]][] = [
    ["the chat", sentIn(witnessed, `dm-${name}`).map(({ text }) => text)],
    [
      "the session",
      (own?.history ?? []).map((one) => `${getText(one)} ${JSON.stringify(one.toolCalls ?? [])}`),
    ],
    ["the memory", own?.memory ?? []],
    ["the ledger", own?.ledger ?? []],
    ["the programs", (own?.processes ?? []).map(({ command }) => command)],
  ];
  for (const [place, texts] of places)
    for (const text of texts) {
      const [found] = foreign.exec(text) ?? [];
      if (found !== undefined) findings.crossed.push(`${found} stands in ${place} of ${name}`);
    }
}
