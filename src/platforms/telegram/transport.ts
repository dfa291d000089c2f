/** The answer is not from the Bot API: a page of a proxy, or a truncated answer. */
export class NoApiAnswer extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`HTTP status ${status} without an answer of the Bot API`);
    this.name = "NoApiAnswer";
    this.status = status;
  }
}

interface FetchInit {
  readonly signal?: Pick<AbortSignal, "aborted" | "addEventListener">;
}

/**
 * The `fetch` for grammY. Node's fetch reports whether a connection was made and the status of a non-JSON answer: both are
 * needed to decide whether a message may have arrived.
 */
export async function fetchBotApi(url: string, init: FetchInit): Promise<Response> {
  const { signal, ...rest } = init;
  const aborting = new AbortController();
  // grammY's signal comes from another library, and fetch does not accept it.
  if (signal?.aborted) aborting.abort();
  signal?.addEventListener("abort", () => aborting.abort(), { once: true });
  const response = await fetch(url, { ...rest, signal: aborting.signal, redirect: "error" });
  const body = await response.text();
  if (!isApiAnswer(body)) throw new NoApiAnswer(response.status);
  return new Response(body, { status: 200, headers: { "content-type": "application/json" } });
}

function isApiAnswer(body: string): boolean {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === "object" && answer !== null && "ok" in answer;
  } catch {
    return false;
  }
}

const NEVER_CONNECTED =
  /^(?:UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH)$/;
const NOT_TRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/;

/** Whether the request was certainly not sent, because there was no connection. */
export function isNeverSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    // Node tried several addresses of a name, and none accepted the connection.
    if (cause instanceof AggregateError) return true;
    if (syscall === "connect" || syscall === "getaddrinfo") return true;
    if (code !== undefined && (NEVER_CONNECTED.test(code) || NOT_TRUSTED.test(code))) return true;
  }
  return false;
}

/** The error code of a failed connection. Not its message, which may contain the URL with the token. */
export function readNetworkErrorCode(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === "string") return code;
  }
  return "no answer";
}
