import type { RecordedRequest, RequestKind, RequestShape } from "../support/recording-endpoint.ts";

/** A request in one format for all providers. Only this file knows the formats of the providers. */
export interface ReadRequest {
  readonly kind: RequestKind;
  readonly model: string;
  /** The system text, block by block. */
  readonly system: readonly string[];
  /** Names of the offered tools, in order. */
  readonly tools: readonly string[];
  readonly messages: readonly ReadMessage[];
  /** The reasoning effort; absent if the request does not contain it. */
  readonly reasoning?: string;
  /** Notes that are sent once (a reset, the first message), at any position; `system` and `messages` are without them. */
  readonly notes: readonly string[];
  /** The cache marks for Anthropic, in order: `tool 3`, `system 0`, `message 3`. */
  readonly cacheMarks: readonly string[];
}

export interface ReadMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** Media types of images, with the bytes as base64. */
  readonly images?: readonly string[];
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[];
  /** The thinking of the model, with its signature. */
  readonly thoughts?: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

export function readRequest(request: RecordedRequest | undefined): ReadRequest {
  if (request === undefined) throw new Error("the model was not asked");
  const { kind, shape, body } = request;
  const { model } = body;
  const effort = reasoningIn(shape, body);
  const { system, messages, cacheMarks } = READERS[shape](body);
  const last = messages.at(-1);
  return {
    kind,
    model: String(model),
    tools: listOf(body.tools).map((tool) => String(tool.name ?? fieldsOf(tool.function).name)),
    system: system.map(withoutNotes),
    messages: messages.map((one) => (one === last ? { ...one, text: withoutNotes(one.text) } : one)),
    notes: [...system, last?.text ?? ""].flatMap((text) => text.match(NOTE) ?? []).map(withoutHeading),
    cacheMarks,
    ...(effort !== undefined && { reasoning: effort }),
  };
}

/** Summaries are notes, too, but belong to the history. */
const NOTE =
  /(?:\[From the system, not from the person\]\n)?\[Note: (?:the previous conversation was closed|nobody has talked to you)[^\]]*\]/g;

/** Removes the label before a note. */
function withoutHeading(note: string): string {
  return note.slice(note.indexOf("[Note:"));
}

function withoutNotes(text: string): string {
  return text.replaceAll(NOTE, "").trim();
}

type Read = Pick<ReadRequest, "system" | "messages" | "cacheMarks">;

const READERS: Readonly<Record<RequestShape, (body: Fields) => Read>> = {
  chat: ({ messages }) => readItems(listOf(messages)),
  responses: ({ input }) => {
    const read = readItems(listOf(input));
    return { ...read, messages: joinItems(read.messages) };
  },
  anthropic: ({ tools, system, messages }) => {
    const blocks = blocksOf(system);
    const items = listOf(messages);
    return {
      system: blocks.map(textIn),
      messages: items.flatMap(readAnthropic),
      cacheMarks: [
        ...listOf(tools).flatMap((tool, at) => (isMarked(tool) ? [`tool ${at}`] : [])),
        ...blocks.flatMap((block, at) => (isMarked(block) ? [`system ${at}`] : [])),
        ...items.flatMap(({ content }, at) => (blocksOf(content).some(isMarked) ? [`message ${at}`] : [])),
      ],
    };
  },
};

const isMarked = (block: Fields): boolean => block.cache_control !== undefined;

/** The two formats of OpenAI: the system text is one of the messages. */
function readItems(items: readonly Fields[]): Read {
  const isSystem = ({ role }: Fields): boolean => role === "system" || role === "developer";
  // A reference to an item that OpenAI has stored, such as reasoning.
  const isSaid = (item: Fields): boolean => !isSystem(item) && item.type !== "item_reference";
  return {
    system: items.filter(isSystem).flatMap(({ content }) => blocksOf(content).map(textIn)),
    messages: items.filter(isSaid).map(readItem),
    cacheMarks: [],
  };
}

function readItem(item: Fields): ReadMessage {
  if (item.type === "function_call")
    return {
      role: "assistant",
      text: "",
      calls: [{ name: String(item.name), input: parsed(item.arguments) }],
    };
  if (item.type === "function_call_output") return { role: "tool", text: wordsIn(item.output) };
  if (item.type === "reasoning")
    return { role: "assistant", text: "", thoughts: [sealed(wordsIn(item.summary), item.encrypted_content)] };
  const calls = listOf(item.tool_calls).map(({ function: called }) => {
    const { name, arguments: input } = fieldsOf(called);
    return { name: String(name), input: parsed(input) };
  });
  return message(item.role as ReadMessage["role"], blocksOf(item.content), calls);
}

/** The Responses API has an item for each reasoning, text and call; the others have one message. */
function joinItems(messages: readonly ReadMessage[]): readonly ReadMessage[] {
  const joined: ReadMessage[] = [];
  for (const one of messages) {
    const last = joined.at(-1);
    if (one.role !== "assistant" || last?.role !== "assistant") joined.push(one);
    else joined[joined.length - 1] = joinTwo(last, one);
  }
  return joined;
}

function joinTwo(one: ReadMessage, other: ReadMessage): ReadMessage {
  const calls = [...(one.calls ?? []), ...(other.calls ?? [])];
  const thoughts = [...(one.thoughts ?? []), ...(other.thoughts ?? [])];
  return {
    role: "assistant",
    text: [one.text, other.text].filter(Boolean).join("\n"),
    ...(calls.length > 0 && { calls }),
    ...(thoughts.length > 0 && { thoughts }),
  };
}

/** Formats a thinking block with its signature. */
function sealed(thought: string, proof: unknown): string {
  return `${thought} (${String(proof)})`;
}

/** Anthropic has no role for results: they are blocks of a user message. */
function readAnthropic({ role, content }: Fields): readonly ReadMessage[] {
  const blocks = blocksOf(content);
  const results = blocks.filter(({ type }) => type === "tool_result");
  const rest = blocks.filter(({ type }) => type !== "tool_result");
  const calls = rest
    .filter(({ type }) => type === "tool_use")
    .map(({ name, input }) => ({ name: String(name), input }));
  return [
    ...results.map((result): ReadMessage => ({ role: "tool", text: wordsIn(result.content) })),
    ...(rest.length === 0 ? [] : [message(role as "user" | "assistant", rest, calls)]),
  ];
}

function message(
  role: ReadMessage["role"],
  blocks: readonly Fields[],
  calls: NonNullable<ReadMessage["calls"]>,
): ReadMessage {
  const images = blocks.flatMap(imageIn);
  const thoughts = blocks
    .filter(({ type }) => type === "thinking")
    .map(({ thinking, signature }) => sealed(String(thinking), signature));
  return {
    role,
    text: blocks.map(textIn).filter(Boolean).join("\n"),
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { calls }),
    ...(thoughts.length > 0 && { thoughts }),
  };
}

/** As a data URL, whichever form the provider has. */
function imageIn(block: Fields): readonly string[] {
  if (block.type === "image_url") return [String(fieldsOf(block.image_url).url)];
  if (block.type === "input_image") return [String(block.image_url)];
  if (block.type !== "image") return [];
  const { media_type, data } = fieldsOf(block.source);
  return [`data:${String(media_type)};base64,${String(data)}`];
}

function reasoningIn(shape: RequestShape, body: Fields): string | undefined {
  if (shape === "chat") return body.reasoning_effort as string | undefined;
  if (shape === "responses") return fieldsOf(body.reasoning).effort as string | undefined;
  const { effort } = fieldsOf(body.output_config);
  const { type } = fieldsOf(body.thinking);
  // Older models get a number of tokens, which the client computes from the effort.
  return (effort ?? type) as string | undefined;
}

function blocksOf(content: unknown): readonly Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listOf(content);
}

function textIn(block: Fields): string {
  return typeof block.text === "string" ? block.text : "";
}

function wordsIn(content: unknown): string {
  return blocksOf(content).map(textIn).join("\n");
}

function parsed(text: unknown): unknown {
  return JSON.parse(String(text)) as unknown;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}
