/** Time and randomness. The core receives both as arguments. */
export interface Clock {
  /** Epoch milliseconds, for stored times. Jumps in either direction when the system clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary start, for durations within this process. Never jumps and never goes back. */
  monotonic(): number;
  /** Cryptographically secure random bytes. */
  random(bytes: number): Uint8Array;
}
