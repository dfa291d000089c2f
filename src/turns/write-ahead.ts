import type { AnswerDraft } from "../core/turn.ts";
import type { AgentEvent } from "../ports/agent.ts";
import { pause } from "../system/pause.ts";
import { type AnswerRecorder, needsNewMessage } from "./answer-recorder.ts";
import { AnswerStoreError } from "./answer-store.ts";

/** Agents write text faster than a disk should store it; nobody reads faster than this. */
const SAVE_EVERY_MS = 40;
/** Every draft contains the whole message, so a long one is stored less often. */
const SAVED_CHARACTERS_PER_MS = 400;

/** A stage of an answer's event stream: records each event, stores what must be stored first, and shows the event. */
export interface AnswerStage {
  /** Resolves when the agent may continue. */
  push(event: AgentEvent): Promise<void>;
  /** Everything is stored: shows the events that were pending. */
  release(): void;
}

export interface StageOptions {
  /** The recorder of the current run. */
  recorder(): AnswerRecorder;
  /** Stores the recorder's messages. */
  storeMessages(): Promise<void>;
  storeDraft(draft: AnswerDraft): Promise<void>;
  /** Runs a step again while the disk is full or the file is locked. */
  retry(step: () => Promise<void>): Promise<void>;
  show(event: AgentEvent, text: string): void;
  onDraftSaved(draft: AnswerDraft): void;
  readonly signal: AbortSignal;
}

/**
 * Shows events in order, and none that a crash could take back. Text is stored as a draft, in batches, while the agent
 * continues; the end of a message is stored with the message.
 */
export function writeAhead(options: StageOptions): AnswerStage {
  const { recorder, storeMessages, storeDraft, retry, show, onDraftSaved, signal } = options;
  const pending: { readonly event: AgentEvent; readonly text: string }[] = [];
  let newest: AnswerDraft = { text: "", thought: "" };
  let saving: Promise<void> | undefined;
  let failure: AnswerStoreError | undefined;
  let isStoring = false;

  function showPending(count = pending.length): void {
    for (const { event, text } of pending.splice(0, count)) show(event, text);
  }

  /** A draft that is stored after its message would repeat it, so none is stored meanwhile. */
  async function storeWhole(): Promise<void> {
    isStoring = true;
    await storeMessages();
    isStoring = false;
    showPending();
  }

  function saveSoon(event: AgentEvent): void {
    pending.push({ event, text: recorder().text() });
    newest = recorder().getPartial();
    saving ??= saveDrafts().finally(() => {
      saving = undefined;
    });
  }

  async function saveDrafts(): Promise<void> {
    while (pending.length > 0 && failure === undefined && !isStoring) {
      const [startedAt, draft, first, count] = [performance.now(), newest, pending[0], pending.length];
      try {
        await retry(async () => {
          if (!isStoring) await storeDraft(draft);
        });
      } catch (error) {
        failure = new AnswerStoreError(error);
        return;
      }
      if (isStoring) return;
      // If a message was stored meanwhile, it showed these events.
      if (pending[0] === first) {
        onDraftSaved(draft);
        showPending(count);
      }
      const interval = (draft.text.length + draft.thought.length) / SAVED_CHARACTERS_PER_MS;
      await pause(Math.max(SAVE_EVERY_MS, interval) - (performance.now() - startedAt), signal);
    }
  }

  async function waitUntilSaved(): Promise<void> {
    while (saving !== undefined && pending.length > 0) await saving;
  }

  return {
    async push(event) {
      if (needsNewMessage(recorder().getPartial(), event)) await storeWhole();
      recorder().record(event);
      if (event.type === "model_part") return; // stored with its message, never shown
      if (isText(event)) {
        saveSoon(event);
        if (failure !== undefined) throw failure;
        return;
      }
      await (endsMessage(event) ? storeWhole() : waitUntilSaved());
      show(event, recorder().text());
    },
    release() {
      isStoring = false;
      showPending();
    },
  };
}

function isText({ type }: AgentEvent): boolean {
  return type === "text" || type === "thought" || type === "plan";
}

function endsMessage({ type }: AgentEvent): boolean {
  return type === "tool_call" || type === "tool_result" || type === "message";
}
