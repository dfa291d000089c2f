/** One answer of a model. Each provider's stream is built from it. */
export interface ModelAnswer {
  readonly say?: string;
  /** Sent before the text. Anthropic and OpenAI need the signature back. */
  readonly think?: { readonly text: string; readonly signature?: string };
  readonly calls?: readonly ModelCall[];
  readonly usage?: { readonly input: number; readonly output: number };
  /** Sends everything but the end, and keeps the connection open. */
  readonly hang?: boolean;
  /** Refuses the request with this status. */
  readonly status?: number;
}

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Events of a stream, split before its end. */
export interface AnswerEvents {
  readonly begin: readonly unknown[];
  readonly end: readonly unknown[];
}

export const DEFAULT_USAGE = { input: 11, output: 7 } as const;
