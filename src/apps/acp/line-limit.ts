/** The method of the request that replaces a line over the limit. */
export const TOO_LONG_METHOD = "_postrider/too_long";
/** One part of 25 MiB in base64, and the rest of its message. */
export const MAX_REQUEST_BYTES: number = 36 * 1024 * 1024;

/** Every client writes a request's id near its beginning. */
const HEAD_BYTES = 4096;

/**
 * Passes lines through and replaces each line over the limit by a request that fails. The reader would close the
 * connection, and all threads with it, at such a line.
 */
export function limitLineLength(
  maxBytes: number = MAX_REQUEST_BYTES,
): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  let held: Uint8Array[] = [];
  /** The beginning of a line over the limit. The rest is dropped. */
  let head: string | undefined;
  return new TransformStream({
    transform(chunk, controller) {
      for (let rest = chunk; rest.byteLength > 0; ) {
        const end = rest.indexOf(10);
        const piece = end === -1 ? rest : rest.subarray(0, end + 1);
        rest = rest.subarray(piece.byteLength);
        length += piece.byteLength;
        if (length <= maxBytes) held.push(piece);
        else {
          head ??= Buffer.concat([...held, piece]).toString("utf8", 0, HEAD_BYTES);
          held = [];
        }
        if (end === -1) continue;
        for (const part of head === undefined ? held : [buildTooLongRequest(head)]) controller.enqueue(part);
        [length, held, head] = [0, [], undefined];
      }
    },
    flush(controller) {
      for (const part of held) controller.enqueue(part);
    },
  });
}

function buildTooLongRequest(head: string): Uint8Array {
  const [, id] = /"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")/.exec(head) ?? [];
  const request = {
    jsonrpc: "2.0",
    ...(id !== undefined && { id: JSON.parse(id) }),
    method: TOO_LONG_METHOD,
  };
  return Buffer.from(`${JSON.stringify(request)}\n`);
}
