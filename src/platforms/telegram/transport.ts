/** The answer did not come from the Bot API: a proxy's page, an answer that was cut off. */
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
 * How grammY reaches the network. Node's own fetch tells whether a connection was ever made, and the status of an answer
 * that is no JSON: what decides whether a message may have arrived.
 */
export async function fetchBotApi(url: string, init: FetchInit): Promise<Response> {
  const { signal, ...rest } = init;
  const aborting = new AbortController();
  // grammY's signal is another library's, which fetch does not take.
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

/** Whether the request surely never left: no connection was made. */
export function isNeverSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    // Several addresses of one name were tried, and none took the connection.
    if (cause instanceof AggregateError) return true;
    if (syscall === "connect" || syscall === "getaddrinfo") return true;
    if (code !== undefined && (NEVER_CONNECTED.test(code) || NOT_TRUSTED.test(code))) return true;
  }
  return false;
}

/** What is known of a failed connection, without addresses: they hold the token. */
export function readNetworkErrorCode(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === "string") return code;
  }
  return "no answer";
}
