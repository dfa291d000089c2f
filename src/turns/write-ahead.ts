import { throwIfRefused } from "../core/refusal.ts";
import type { AnswerDraft, Turn } from "../core/turn.ts";
import type { AgentEvent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";

/** Text grows faster than a disk should be asked to write it; nobody reads faster than this. */
const SAVE_EVERY_MS = 40;
/** All of a message is kept each time, so a long one less often: no more than these characters in a millisecond. */
const SAVED_CHARACTERS_PER_MS = 400;

/** Shows what an agent says, in order, and nothing that a crash could still take back. */
export interface WriteAhead {
  /** Growing text: it is kept soon, together with what comes meanwhile, and shown then. */
  append(event: AgentEvent, said: string, soFar: AnswerDraft): void;
  /** All that has grown is about to be stored with a whole message: kept after that, it would be said twice. */
  beginStore(): void;
  /** It is stored by now. */
  endStore(): void;
  /** Keeps what has grown, and shows it. */
  flush(): Promise<void>;
  /** Why it could not be kept. */
  failure(): unknown;
}

export interface WriteAheadOptions {
  readonly store: Store;
  readonly turn: Turn;
  readonly signal: AbortSignal;
  show(event: AgentEvent, said: string): void;
  /** This much of a message is kept by now. */
  onSaved?(said: AnswerDraft): void;
  /** Does it, again if need be. */
  retry(step: () => Promise<unknown>): Promise<unknown>;
}

export function writeAhead({ store, turn, signal, show, onSaved, retry }: WriteAheadOptions): WriteAhead {
  const grown: { readonly event: AgentEvent; readonly said: string }[] = [];
  let newest: AnswerDraft = { text: "", thought: "" };
  let keeping: Promise<void> | undefined;
  let failure: unknown;
  let isStoring = false;

  function shown(count: number): void {
    for (const { event, said } of grown.splice(0, count)) show(event, said);
  }

  async function keep(): Promise<void> {
    while (grown.length > 0 && failure === undefined && !isStoring) {
      const [before, said] = [performance.now(), newest];
      const first = grown[0];
      let count = grown.length;
      try {
        await retry(async () => {
          if (!isStoring)
            throwIfRefused(
              await store.turns.saveDraft({ turn: turn.number, fence: turn.fence, answerDraft: said }),
            );
        });
      } catch (error) {
        failure = error;
        return;
      }
      if (isStoring) return;
      // A whole message may have been stored meanwhile, and shown what this was about.
      if (grown[0] !== first) count = 0;
      else onSaved?.(said);
      shown(count);
      const wait = Math.max(
        SAVE_EVERY_MS,
        (said.text.length + said.thought.length) / SAVED_CHARACTERS_PER_MS,
      );
      await pause(wait - (performance.now() - before), signal);
    }
  }

  return {
    append(event, said, soFar) {
      grown.push({ event, said });
      newest = soFar;
      keeping ??= keep().finally(() => {
        keeping = undefined;
      });
    },
    beginStore() {
      isStoring = true;
    },
    endStore() {
      isStoring = false;
      shown(grown.length);
    },
    async flush() {
      while (keeping !== undefined && grown.length > 0) await keeping;
    },
    failure: () => failure,
  };
}
