/** Time and chance, the two things the core never takes for itself. */
export interface Clock {
  /** Epoch milliseconds, for what is stored. It jumps in either direction when the system clock is set. */
  now(): number;
  /** Milliseconds since some start, for what passes within this process. It never goes back and never jumps. */
  monotonic(): number;
  random(bytes: number): Uint8Array;
}
