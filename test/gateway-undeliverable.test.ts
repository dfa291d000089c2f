import { beforeAll, describe, expect, it } from "vitest";
import type { Witnessed } from "./gateway/protocol.ts";
import { disorderedIn, driveUndeliverable, type UndeliverableReport } from "./gateway/undeliverable.ts";
import { temporaryFolder } from "./support/folder.ts";
import { isProof } from "./support/schedule.ts";

const SEED = 20_261_118;
const KILLS = 4;

// A message is deferred after half a minute; deliver.test.ts covers the same with a fake clock.
describe.runIf(isProof)("a gateway with a messenger that never accepts some messages", () => {
  let report: UndeliverableReport;

  beforeAll(async () => {
    const folder = temporaryFolder();
    report = await driveUndeliverable({ folder: folder.path, seed: SEED, kills: KILLS });
    const { kills, said, answered, told, stuck, notices } = report;
    console.log(
      `seed ${SEED}: kills ${kills}, texts ${said}, answered ${answered}, told ${told.length}, stuck ${stuck}, notices ${notices}`,
    );
    return () => folder.remove();
  }, 150_000);

  it("gives everybody an answer or a notice, and logs no errors", () => {
    expect(report.errors).toEqual([]);
    expect(report.lost).toEqual([]);
    expect(report.stuck).toBeGreaterThan(2);
  });

  it("sends later messages in order, and one notice in the position of the undeliverable message", () => {
    expect([report.disordered, report.toldWrong]).toEqual([[], []]);
    expect(report.notices).toBeGreaterThan(0);
  });

  it("sends no answer to another person, and repeats nothing", () => {
    expect([report.crossed, report.repeated, report.repeatedWithMark, report.doneTwice]).toEqual([
      [],
      [],
      [],
      [],
    ]);
  });
});

it("detects answers out of order", () => {
  const said = (seq: number, text: string): Witnessed => ({
    ...{ seq, at: seq, kind: "said", chat: "c", type: "dm", person: "a", messageId: `${seq}`, text },
  });
  const sent = (seq: number, text: string): Witnessed => ({
    ...{ seq, at: seq, kind: "sent", chat: "c", messageId: `${seq}`, members: [], nonce: `${seq}`, text },
  });
  const texts = [said(1, "[a-1]"), said(2, "[a-2]")];
  expect(disorderedIn([...texts, sent(3, "to [a-1]"), sent(4, "to [a-2]")])).toEqual([]);
  expect(disorderedIn([...texts, sent(3, "to [a-2]"), sent(4, "to [a-1]")])).toEqual([
    "[a-1] stands behind [a-2]",
  ]);
});
