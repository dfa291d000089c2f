import { PostriderError } from "../../../core/errors.ts";
import { confirm as confirmPlainly } from "../confirm.ts";
import { type Io, note } from "../io.ts";

/** How a setup speaks with whoever does it: with prompts in a terminal, in plain lines to a script. */
export interface Guide {
  readonly isPerson: boolean;
  begin(title: string): void;
  tell(text: string): void;
  /** Asks for something that must not be seen. Where nobody can be asked, `otherwise` says what to do instead. */
  secret(question: string, check: (given: string) => string | undefined, otherwise: string): Promise<string>;
  agree(question: string): Promise<boolean>;
  /** Shows that something takes a moment. */
  during<Result>(words: string, work: Promise<Result>): Promise<Result>;
  end(text: string): void;
}

export async function guideFor(io: Io, isPlain: boolean): Promise<Guide> {
  const isPerson = io.input.isTTY === true && io.notices.isTTY === true && !isPlain;
  return isPerson ? prompting(io) : plain(io);
}

function plain(io: Io): Guide {
  return {
    isPerson: false,
    begin: () => {},
    tell: (text) => note(io, text),
    secret: (_, __, otherwise) => Promise.reject(new PostriderError("invalid_input", otherwise)),
    agree: (question) => confirmPlainly(io, question),
    during: (_, work) => work,
    end: (text) => note(io, text),
  };
}

/** Loaded only where somebody sits. */
async function prompting(io: Io): Promise<Guide> {
  const clack = await import("@clack/prompts");
  const around = { input: io.input, output: io.notices };
  const answered = <Answer extends string | boolean>(answer: Answer | typeof clack.CANCEL_SYMBOL): Answer => {
    if (typeof answer !== "symbol") return answer;
    throw new PostriderError("not_allowed", "Nothing was changed.");
  };
  return {
    isPerson: true,
    begin: (title) => clack.intro(title, around),
    tell: (text) => clack.log.message(text, { output: io.notices }),
    async secret(message, check) {
      return answered(await clack.password({ ...around, message, validate: (given = "") => check(given) }));
    },
    async agree(message) {
      return answered(await clack.confirm({ ...around, message }));
    },
    async during(words, work) {
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
