import { parseArgs } from "node:util";

export interface Options {
  readonly help: boolean;
  readonly list: boolean;
  readonly check: boolean;
  readonly json: boolean;
  readonly baseline: boolean;
  readonly only: readonly string[];
  readonly files: readonly string[];
  readonly jobs: number;
  readonly seconds: number;
}

export const HELP: string = `npm run mutants [-- options]

Applies each mutation of test/mutants/ to a copy of the tree, one at a time, and runs the tests that must notice it.
A mutation survives when these tests pass. Exits with 1 when a mutation survives, is invalid or no longer applies.

  --only TEXT   only mutations whose file, text or broken promise contains TEXT; may be given again
  --file FILE   only mutations of this source file; may be given again
  --list        print the mutations and run nothing
  --check       check that every mutation still applies, and run nothing
  --json        print the results as JSON
  --jobs N      mutations tried at the same time, each in a copy of its own (1)
  --no-baseline do not check first that the tests pass without any mutation
  --seconds N   time limit for one mutation; one that exceeds it counts as noticed (180)
  --help        this text
`;

/** Throws an error with a sentence for the person who typed it. */
export function optionsFrom(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      only: { type: "string", multiple: true },
      file: { type: "string", multiple: true },
      list: { type: "boolean" },
      check: { type: "boolean" },
      json: { type: "boolean" },
      baseline: { type: "boolean", default: true },
      jobs: { type: "string" },
      seconds: { type: "string" },
      help: { type: "boolean" },
    },
  });
  return {
    help: values.help === true,
    list: values.list === true,
    check: values.check === true,
    json: values.json === true,
    baseline: values.baseline,
    only: values.only ?? [],
    files: values.file ?? [],
    jobs: countFrom("jobs", values.jobs, 1),
    seconds: countFrom("seconds", values.seconds, 180),
  };
}

function countFrom(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number from 1 on, not "${text}".`);
}
