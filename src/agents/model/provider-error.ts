import { parseRetryWait } from "./retry-wait.ts";

/** The facts of a failed model request that decide the text for the person. */
export interface ProviderError {
  /** HTTP status, or the status that the provider names inside a stream. */
  readonly status?: number;
  /** Body, message and codes in lower case, cut to `MAX_READ` characters each: for pattern matching only. */
  readonly searchText: string;
  /** The provider's own message; empty if there is none. */
  readonly message: string;
  /** True if the provider reported the error; false for network and client errors. */
  readonly isReported: boolean;
  /** The response is a web page, not an API response. */
  readonly isPage: boolean;
  /** The wait that the provider asks for. */
  readonly waitMs?: number;
  /** The innermost error code of the system, such as `ECONNREFUSED`. */
  readonly code?: string;
  /** Name of the error class. */
  readonly name: string;
}

/** Some providers answer with a whole page: only this many characters of each text are read. */
const MAX_READ = 10_000;

/** Fields that the errors of the client library and of providers share. */
interface RawError {
  readonly statusCode?: unknown;
  readonly responseBody?: unknown;
  readonly responseHeaders?: unknown;
  readonly lastError?: unknown;
  readonly message?: unknown;
  readonly name?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
}

export function readProviderError(error: unknown): ProviderError {
  if (typeof error === "string")
    return { ...EMPTY_ERROR, searchText: lower(error), message: truncate(error), isReported: true };
  if (typeof error !== "object" || error === null) return EMPTY_ERROR;
  const raw = error as RawError;
  if (raw.lastError !== undefined) return readProviderError(raw.lastError);
  const body = truncate(raw.responseBody);
  const status = parseStatus(raw.statusCode) ?? parseStatus(raw.code);
  const headers = (raw.responseHeaders ?? {}) as Readonly<Record<string, string>>;
  const waitMs = parseRetryWait(headers, body === "" ? truncate(raw.message) : body);
  const code = findSystemCode(error);
  return {
    ...(status !== undefined && { status }),
    searchText: [body, truncate(raw.message), truncate(raw.type), truncate(raw.code)].map(lower).join(" "),
    message: parseMessage(body) ?? (isPageText(body) ? "" : truncate(raw.message)),
    isReported: status !== undefined || !(error instanceof Error) || raw.name === "AI_StreamProviderError",
    isPage: isPageText(body) || isPageType(headers),
    ...(waitMs !== undefined && { waitMs }),
    ...(code !== undefined && { code }),
    name: truncate(raw.name),
  };
}

/** Whether the response is a web page by its own headers. */
export function isPageType(headers: Readonly<Record<string, string>> = {}): boolean {
  return headers["content-type"]?.toLowerCase().startsWith("text/html") ?? false;
}

const EMPTY_ERROR: ProviderError = {
  searchText: "",
  message: "",
  isReported: false,
  isPage: false,
  name: "",
};

/** A broken stream had status 200 before: only error statuses count. */
function parseStatus(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && number >= 400 && number < 600 ? number : undefined;
}

/** The message in a JSON body. Providers put it at `error.message`, `error`, `message` or `detail`. */
function parseMessage(body: string): string | undefined {
  try {
    const json = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const { error = json } = json;
    if (typeof error === "string") return error;
    const { message, detail } = error as Readonly<Record<string, unknown>>;
    return [message, detail].find((text) => typeof text === "string");
  } catch {
    return undefined;
  }
}

function isPageText(body: string): boolean {
  return /^\s{0,100}<(?:!doctype|html|head|\?xml)/i.test(body);
}

/** The innermost cause has the code of the system. */
function findSystemCode(error: unknown, depth = 0): string | undefined {
  if (typeof error !== "object" || error === null || depth > 5) return undefined;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return findSystemCode(cause, depth + 1) ?? (typeof code === "string" ? code : undefined);
}

function truncate(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_READ) : "";
}

function lower(text: string): string {
  return text.slice(0, MAX_READ).toLowerCase();
}
