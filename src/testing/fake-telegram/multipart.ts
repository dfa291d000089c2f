export interface MultipartForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, { readonly name: string; readonly bytes: Uint8Array }>;
}

/** Splits a multipart body at its boundary. Strict parsers reject the part headers of some bot libraries. */
export function parseMultipart(body: Buffer, boundary: string): MultipartForm {
  const fields: Record<string, string> = {};
  const files = new Map<string, { name: string; bytes: Uint8Array }>();
  const mark = Buffer.from(`--${boundary}`);
  let from = body.indexOf(mark);
  while (from !== -1) {
    const start = from + mark.length + 2;
    const next = body.indexOf(mark, start);
    if (next === -1) break;
    const part = body.subarray(start, next - 2);
    const headersEnd = part.indexOf("\r\n\r\n");
    const headers = part.subarray(0, headersEnd).toString();
    const content = part.subarray(headersEnd + 4);
    const name = /[;\s]name="([^"]*)"/i.exec(headers)?.[1];
    const file = /filename="?([^"\r\n]*)"?/i.exec(headers)?.[1];
    if (name !== undefined && file === undefined) fields[name] = content.toString();
    else if (name !== undefined) files.set(name, { name: file ?? "", bytes: new Uint8Array(content) });
    from = next;
  }
  return { fields, files };
}
