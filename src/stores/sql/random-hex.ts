/** Uses the global crypto: loading node:crypto takes as long as opening a database, and most commands do not need it. */
export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
