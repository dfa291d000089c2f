import { createLinkCode } from "../../../commands/pairing.ts";
import type { AccountName } from "../../../core/access.ts";
import { textPart } from "../../../core/message.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Store } from "../../../ports/store.ts";
import { systemClock } from "../../../system/system-clock.ts";
import { findRunningGateway } from "../../gateway-lease.ts";

const PLATFORM = "telegram";

/** A code that links an account to the owner. */
export interface PendingLink {
  readonly code: string;
  readonly expiresAt: number;
  readonly number: number | undefined;
  /** The owner's accounts before the code was created. */
  readonly before: readonly AccountName[];
}

export async function listOwnAccounts(store: Store): Promise<readonly AccountName[]> {
  const owner = (await store.access.listGrants()).find(({ person }) => person === OWNER);
  return owner?.accounts.filter(({ platform }) => platform === PLATFORM) ?? [];
}

export async function createLink(store: Store): Promise<PendingLink> {
  const open = async () =>
    (await store.access.listPairings({ platform: PLATFORM, now: Date.now() })).filter(
      ({ person }) => person === OWNER,
    );
  const earlier = new Set((await open()).map(({ number }) => number));
  const before = await listOwnAccounts(store);
  const { code, expiresAt } = await createLinkCode({
    store,
    clock: systemClock,
    platform: PLATFORM,
    person: OWNER,
  });
  const number = (await open()).findLast((pairing) => !earlier.has(pairing.number))?.number;
  return { code, expiresAt, number, before };
}

export interface LinkWaitOptions {
  /** The time limit for the wait. */
  readonly ms: number;
  readonly signal: AbortSignal;
  /** Called when the state of the connection changes. */
  onState(words: string): void;
}

/** Resolves with the account that used the code; `undefined` after the time-out. */
export async function waitForLinkedAccount(
  store: Store,
  link: PendingLink,
  { ms, signal, onState }: LinkWaitOptions,
): Promise<AccountName | undefined> {
  let connectionState = "";
  const isUsed = async (): Promise<boolean> => {
    const [connection] = (await findRunningGateway(store, Date.now()))?.connections ?? [];
    if (connection !== undefined && connection.state !== connectionState) {
      connectionState = connection.state;
      onState(connectionState);
    }
    const open = await store.access.listPairings({ platform: PLATFORM, now: Date.now() });
    return !open.some(({ number }) => number === link.number);
  };
  if (!(await waitUntilTrue(store, isUsed, Math.min(ms, link.expiresAt - Date.now()), signal)))
    return undefined;
  const known = new Set(link.before.map(({ userId }) => userId));
  const accounts = await listOwnAccounts(store);
  return accounts.find(({ userId }) => !known.has(userId)) ?? accounts.at(-1);
}

/** Sends a message to the account through the connected gateway. Resolves when it is queued. */
export async function sendGreeting(store: Store, { userId = "" }: AccountName, words: string): Promise<void> {
  const target = { platform: PLATFORM, chatType: "dm", chatId: userId, userId };
  const { deliveries } = await store.outbox.enqueue({
    deliveries: [{ target, parts: [textPart(words)] }],
    runner: "",
    now: Date.now(),
  });
  const isTaken = async (): Promise<boolean> => {
    for (const { number } of deliveries)
      if ((await store.outbox.getDelivery({ number }))?.status.state === "waiting") return false;
    return true;
  };
  await waitUntilTrue(store, isTaken, GREETING_TIMEOUT_MS, new AbortController().signal);
}

const GREETING_TIMEOUT_MS = 10_000;
const POLL_MS = 1000;

/** Tests the condition at every store change and at intervals. False after the time-out. */
async function waitUntilTrue(
  store: Store,
  ask: () => Promise<boolean>,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + ms;
  let wake = (): void => {};
  const stop = store.onChange(() => wake());
  const ended = (): void => wake();
  signal.addEventListener("abort", ended);
  try {
    for (;;) {
      // Subscribes before the test, so that a change during the test is noticed.
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (signal.aborted) return false;
      if (await ask()) return true;
      const left = until - performance.now();
      if (left <= 0) return false;
      const timer = setTimeout(wake, Math.min(left, POLL_MS));
      await changed;
      clearTimeout(timer);
    }
  } finally {
    stop();
    signal.removeEventListener("abort", ended);
  }
}
