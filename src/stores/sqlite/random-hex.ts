/** By the global, not node:crypto: what loads it takes as long as opening a database, and most commands need none. */
export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
