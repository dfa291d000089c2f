/** Time and chance, the two things the core never takes for itself. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  random(bytes: number): Uint8Array;
}
