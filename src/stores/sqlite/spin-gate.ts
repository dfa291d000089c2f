/** Whether a thread should wait awake for the next message of another one, instead of sleeping until it is woken up. */
export interface SpinGate {
  /** Asked before each wait. */
  isOpen(): boolean;
  /** Called after each wait, awake or asleep, with its length. */
  record(waitedMs: number): void;
}

/** The weight of the newest wait: three long ones in a row close the gate, and three short ones open it. */
const NEWEST = 0.25;

/**
 * Waking up a thread takes as long as a commit on a fast disk, so waiting awake pays if the message comes at once. If it does
 * not, as with pauses between the calls, or if the threads share a busy core, it only keeps others from that core. So the
 * last waits decide: the gate is open while most of them were shorter than `worthMs`.
 */
export function createSpinGate(worthMs: number): SpinGate {
  let shortShare = 1;
  return {
    isOpen: () => shortShare >= 0.5,
    record(waitedMs) {
      shortShare += NEWEST * ((waitedMs < worthMs ? 1 : 0) - shortShare);
    },
  };
}
