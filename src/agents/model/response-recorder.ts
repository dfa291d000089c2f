import { pickProviderData, type ResponsePart } from "./response-parts.ts";

/** The fields of the client's stream that the recorder reads. */
interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly text?: string;
  readonly providerMetadata?: unknown;
}

/** Records the order of a response's parts while it streams. */
export interface ResponseRecorder {
  /** Returns the parts to store now, with the message that contains their text. */
  record(part: StreamPart): readonly ResponsePart[];
  /** Records a call under its stored id. */
  recordCall(id: string, metadata: unknown): readonly ResponsePart[];
  /** Returns the parts that must be stored only because the response has several calls. */
  flush(): readonly ResponsePart[];
  /** Every part so far, stored or not. */
  readonly parts: readonly ResponsePart[];
}

const NOTHING: readonly ResponsePart[] = [];
const STEPS = new Map(
  (["text", "reasoning"] as const).flatMap((kind) =>
    ["start", "delta", "end"].map((step) => [
      `${kind}-${step}`,
      { kind, isStart: step === "start", isEnd: step === "end" },
    ]),
  ),
);

/**
 * A plain response, which is a text and then a call, can be rebuilt from its message and needs no parts. So texts and
 * calls stay pending until a part follows that must be stored: reasoning, or one with data of the provider.
 */
export function createResponseRecorder(): ResponseRecorder {
  const parts: ResponsePart[] = [];
  const open = new Map<string, { length: number; metadata: unknown }>();
  let pending: ResponsePart[] = [];

  function flush(...more: readonly ResponsePart[]): readonly ResponsePart[] {
    const due = [...pending, ...more];
    pending = [];
    return due;
  }

  function add(part: ResponsePart): readonly ResponsePart[] {
    parts.push(part);
    if (part.type === "reasoning" || part.data !== undefined) return flush(part);
    pending.push(part);
    return [];
  }

  return {
    parts,
    record({ type, id = "", text = "", providerMetadata }) {
      const step = STEPS.get(type);
      if (step === undefined) return NOTHING;
      const { kind, isStart, isEnd } = step;
      const key = `${kind} ${id}`;
      const current = open.get(key) ?? { length: 0, metadata: undefined };
      current.length += text.length;
      current.metadata = providerMetadata ?? current.metadata;
      // A thought after a text may start a new message, so the part of the text goes first.
      if (isStart) {
        open.set(key, current);
        return kind === "reasoning" ? flush() : NOTHING;
      }
      if (!isEnd) return NOTHING;
      open.delete(key);
      const data = pickProviderData(kind, current.metadata);
      if (kind === "text" && current.length === 0 && data === undefined) return NOTHING;
      return add({ type: kind, length: current.length, ...(data !== undefined && { data }) });
    },
    recordCall(id, metadata) {
      const data = pickProviderData("call", metadata);
      return add({ type: "call", id, ...(data !== undefined && { data }) });
    },
    flush: () => flush(),
  };
}
