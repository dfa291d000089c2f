import { PostriderError } from "../../../core/errors.ts";
import { confirm as confirmPlainly } from "../confirm.ts";
import { type Io, printNotice } from "../io.ts";

/** The dialogue of a setup: prompts in a terminal, plain lines for a script. */
export interface SetupGuide {
  readonly isInteractive: boolean;
  start(title: string): void;
  show(text: string): void;
  /** Asks for a secret. Without a terminal it fails with the text of `otherwise`. */
  askSecret(
    question: string,
    check: (given: string) => string | undefined,
    otherwise: string,
  ): Promise<string>;
  askConfirmation(question: string): Promise<boolean>;
  /** Shows a progress indicator. */
  showProgress<Result>(words: string, work: Promise<Result>): Promise<Result>;
  end(text: string): void;
}

export async function createGuide(io: Io, isPlain: boolean): Promise<SetupGuide> {
  const isPerson = io.input.isTTY === true && io.notices.isTTY === true && !isPlain;
  return isPerson ? interactiveGuide(io) : plainGuide(io);
}

function plainGuide(io: Io): SetupGuide {
  return {
    isInteractive: false,
    start: () => {},
    show: (text) => printNotice(io, text),
    askSecret: (_, __, otherwise) => Promise.reject(new PostriderError("invalid_input", otherwise)),
    askConfirmation: (question) => confirmPlainly(io, question),
    showProgress: (_, work) => work,
    end: (text) => printNotice(io, text),
  };
}

/** Loaded only in a terminal. */
async function interactiveGuide(io: Io): Promise<SetupGuide> {
  const clack = await import("@clack/prompts");
  const around = { input: io.input, output: io.notices };
  const answered = <Answer extends string | boolean>(answer: Answer | typeof clack.CANCEL_SYMBOL): Answer => {
    if (typeof answer !== "symbol") return answer;
    throw new PostriderError("not_allowed", "Nothing was changed.");
  };
  return {
    isInteractive: true,
    start: (title) => clack.intro(title, around),
    show: (text) => clack.log.message(text, { output: io.notices }),
    async askSecret(message, check) {
      return answered(await clack.password({ ...around, message, validate: (given = "") => check(given) }));
    },
    async askConfirmation(message) {
      return answered(await clack.confirm({ ...around, message }));
    },
    async showProgress(words, work) {
      const spinner = clack.spinner(around);
      spinner.start(words);
      try {
        const result = await work;
        spinner.stop(words);
        return result;
      } catch (error) {
        spinner.error(words);
        throw error;
      }
    },
    end: (text) => clack.outro(text, around),
  };
}
