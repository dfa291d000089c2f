import { fillDatabase } from "../../bench/fill-database.ts";
import type { CopyStep } from "../../src/stores/copy/copy-store.ts";
import { startChild } from "../support/child.ts";

export interface KillPlan {
  /** A new file, filled with messages. */
  readonly source: string;
  readonly schema: { readonly address: string };
  /** The file into which the schema is copied. */
  readonly back: string;
  /** Of each direction. */
  readonly kills: number;
  readonly messages: number;
  random(): number;
}

/** Copies to PostgreSQL and back by processes that are killed, then continued. Returns the result of each last process. */
export async function killCopies(plan: KillPlan): Promise<string[]> {
  const { source, schema, back } = plan;
  fillDatabase({ file: source, messages: plan.messages });
  return [
    await copyWithKills(plan, `sqlite:${source}`, schema.address),
    await copyWithKills(plan, schema.address, `sqlite:${back}`),
  ];
}

type Report = { readonly step: CopyStep; readonly part: number } | { readonly copy: string };

const STEPS: readonly CopyStep[] = ["copied", "indexed", "verified"];

/** A moment is the number of finished steps, and the part of the current one. */
function toMoment(report: Report): number {
  return "step" in report ? STEPS.indexOf(report.step) + report.part : Number.POSITIVE_INFINITY;
}

async function copyWithKills({ kills, random }: KillPlan, from: string, to: string): Promise<string> {
  const moments = Array.from({ length: kills }, () => random() * 2.5).sort((a, b) => a - b);
  for (const moment of [...moments, Number.POSITIVE_INFINITY]) {
    const child = startChild(new URL("./copier.ts", import.meta.url), [from, to]);
    const report = await child.heard<Report>((it) => toMoment(it) >= moment);
    if ("copy" in report) {
      await child.ended;
      return report.copy;
    }
    child.process.kill("SIGKILL");
    await child.ended;
  }
  throw new Error("the last process did not finish");
}
