/** The fields of a protocol message that these tests read. */
export interface WireMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly update?: WireUpdate };
  readonly result?: {
    readonly sessionId?: string;
    readonly stopReason?: string;
    readonly agentCapabilities?: { readonly sessionCapabilities: { resume?: unknown } };
  };
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly code: string };
  };
}

export interface WireUpdate {
  readonly sessionUpdate: string;
  readonly content?: unknown;
  readonly rawOutput?: unknown;
}

/** The messages of one side. */
export interface Tapped {
  readonly by: "client" | "agent";
  readonly message: WireMessage;
}

/** Lines of JSON. */
export function linesOf<Line>(text: string): Line[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

/** The text of the chunks in order, with "> " before the user's. */
export function saidIn(messages: readonly WireMessage[]): string {
  return messages.map(({ params }) => (params?.update === undefined ? "" : chunkIn(params.update))).join("");
}

function chunkIn({ sessionUpdate, content }: WireUpdate): string {
  if (sessionUpdate !== "user_message_chunk" && sessionUpdate !== "agent_message_chunk") return "";
  const { text = "" } = content as { readonly text?: string };
  return sessionUpdate === "user_message_chunk" ? `\n> ${text}\n` : text;
}
