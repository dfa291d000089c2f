import { parseArgs } from "node:util";
import { PARTS, type Part } from "./parts.ts";

export interface Options {
  readonly help: boolean;
  readonly seed: number;
  readonly parts: readonly { readonly part: Part; readonly length: number }[];
}

export const HELP: string = `npm run chaos [-- options]

Runs the schedules of the tests at full length: kills, full disks, several processes at once, on real files and real
processes. Ends in a table. When something was lost or doubled or failed, it exits with 1 and the files stay.

  --seed N             what is done and when; printed, and taken from the clock if not given
  --only PART          only this part; may be given again: ${PARTS.map(({ name }) => name).join(", ")}
  --quick              everything, but short
${PARTS.map(({ option, usual, help }) => `  ${`--${option} N`.padEnd(19)}  ${help} (${usual})`).join("\n")}
  --help               this text
`;

/** Throws an error with a sentence for the person who typed it. */
export function optionsFrom(args: readonly string[], now: number): Options {
  const lengths = Object.fromEntries(PARTS.map(({ option }) => [option, { type: "string" as const }]));
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...lengths,
      seed: { type: "string" },
      only: { type: "string", multiple: true },
      quick: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  const given = values as Readonly<Record<string, string | boolean | string[] | undefined>>;
  const number = (name: string, otherwise: number): number => {
    const text = given[name];
    if (text === undefined) return otherwise;
    if (typeof text === "string" && /^\d{1,9}$/.test(text)) return Number(text);
    throw new Error(`--${name} must be a whole number, not "${text}".`);
  };
  const only = values.only ?? [];
  const unknown = only.find((name) => !PARTS.some((part) => part.name === name));
  if (unknown !== undefined) throw new Error(`There is no part "${unknown}".`);
  return {
    help: values.help === true,
    seed: number("seed", now % 1_000_000_000),
    parts: PARTS.filter(({ name }) => only.length === 0 || only.includes(name)).map((part) => ({
      part,
      length: number(part.option, values.quick === true ? part.quick : part.usual),
    })),
  };
}

/** The command that repeats the run. */
export function again({ seed, parts }: Options): string {
  const only = parts.length === PARTS.length ? [] : parts.map(({ part }) => `--only ${part.name}`);
  const lengths = parts.map(({ part, length }) => `--${part.option} ${length}`);
  return `npm run chaos -- ${[`--seed ${seed}`, ...only, ...lengths].join(" ")}`;
}
