/** Whether a thread should wait awake for the next message of another one, instead of sleeping until it is woken up. */
export interface SpinGate {
  /** Asked before each wait. */
  isOpen(): boolean;
  /** The result of a wait that was made awake. */
  record(isAnswered: boolean): void;
}

const FIRST_PAUSE = 4;
const LONGEST_PAUSE = 256;

/**
 * Waking up a thread takes as long as a commit on a fast disk, so waiting awake pays if the message comes at once. If it does
 * not, as with pauses between the calls, or if the threads share a busy core, it only keeps others from that core. So after a
 * wait in vain the next ones are made asleep: 4 of them, then 8, up to 256.
 */
export function createSpinGate(): SpinGate {
  let pause = 0;
  let left = 0;
  return {
    isOpen() {
      if (left === 0) return true;
      left -= 1;
      return false;
    },
    record(isAnswered) {
      pause = isAnswered ? 0 : Math.min(LONGEST_PAUSE, Math.max(FIRST_PAUSE, pause * 2));
      left = pause;
    },
  };
}
