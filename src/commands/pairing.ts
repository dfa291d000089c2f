import { scrypt, timingSafeEqual } from "node:crypto";
import type { AccountName, Pairing } from "../core/access.ts";
import { textPart } from "../core/message.ts";
import type { PersonId } from "../core/owner.ts";
import { isRefused, type Refused, refuse } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { formatTimeUntil } from "./command.ts";

/** Without letters and digits that people confuse. 32 of them, so that random bytes map evenly. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 8;
const MINUTE = 60_000;
export const CODE_TTL_MS: number = 60 * MINUTE;
/** One request per account in this time. */
export const PAIRING_INTERVAL_MS: number = 10 * MINUTE;
/** Requests that are kept per platform: a new one replaces the oldest. */
const MAX_PENDING = 1000;
const MAX_GUESSES = 5;
const LOCK_MS = 60 * MINUTE;

interface PairingContext {
  readonly store: Store;
  readonly clock: Pick<Clock, "now" | "random">;
}

export type PairingCodeResult =
  | { readonly state: "asked"; readonly code: string }
  | { readonly state: "too_soon"; readonly until: number };

/** Creates a code for a stranger, who gives it to the owner. One per account and interval, whatever others request. */
export async function requestPairingCode({
  store,
  clock,
  source,
}: PairingContext & { source: Source }): Promise<PairingCodeResult> {
  const { platform } = source;
  const now = clock.now();
  // The store decides in one commit. Checked first, because a hash is costly and strangers may write often.
  const open = (await store.access.listPairings({ now })).filter(isStrangerPairing);
  const until = computePairingWait(open, source, now);
  if (until !== undefined) return { state: "too_soon", until };
  const { code, ...kept } = await generateCode(clock, open[0]?.salt);
  const asked = await store.access.requestPairing({ platform, asker: source, ...kept, ...LIMITS, now });
  return asked.state === "asked" ? { state: "asked", code } : asked;
}

/** Until when the account gets no further code; undefined when it may request one now. */
export async function findPairingWait({
  store,
  clock,
  source,
}: PairingContext & { source: Source }): Promise<number | undefined> {
  const now = clock.now();
  return computePairingWait(
    (await store.access.listPairings({ platform: source.platform, now })).filter(isStrangerPairing),
    source,
    now,
  );
}

function computePairingWait(
  open: readonly StrangerPairing[],
  source: Source,
  now: number,
): number | undefined {
  const own = open.find(({ asker }) => isSameAccount(asker, source));
  return own !== undefined && own.askedAt + PAIRING_INTERVAL_MS > now
    ? own.askedAt + PAIRING_INTERVAL_MS
    : undefined;
}

/** The reply to a stranger. Undefined without a new code: they have one already. */
export function formatPairingCode(letIn: PairingCodeResult): string | undefined {
  if (letIn.state !== "asked") return undefined;
  return `I do not know you yet. Give this code to whoever runs me, within an hour: \`${letIn.code}\`\n\nThey let you in with \`postrider pair approve ${letIn.code}\`, or by saying \`/pair approve ${letIn.code}\` to me.`;
}

export interface ApprovedPairing {
  readonly person: PersonId;
  readonly account: AccountName;
  readonly asker: Source;
}

/** Grants access to the account that requested this code. A running gateway tells it so in its chat. */
export async function approvePairing(
  input: PairingContext & { readonly code: string; readonly platform?: string | undefined },
): Promise<ApprovedPairing | Refused> {
  const { store, clock, platform } = input;
  const found = await findPairingByCode(input, "approve", async () =>
    (
      await store.access.listPairings({ now: clock.now(), ...(platform !== undefined && { platform }) })
    ).filter(isStrangerPairing),
  );
  if (isRefused(found)) return found;
  const now = clock.now();
  const used = await store.access.redeemPairing({ pairing: found.number, now });
  if (isRefused(used)) return used;
  const { asker } = found;
  // Without a first attempt: any gateway that is connected there sends it.
  await store.outbox.enqueue({
    deliveries: [{ target: asker, parts: [textPart(WELCOME)] }],
    runner: "",
    now,
  });
  return { ...used, asker };
}

const WELCOME = "You are let in. Say something, and I will answer; /help lists what else I can do.";

/** Creates a code that links the account which redeems it to this person. */
export async function createLinkCode({
  store,
  clock,
  platform,
  person,
}: PairingContext & { readonly platform: string; readonly person: PersonId }): Promise<{
  readonly code: string;
  readonly expiresAt: number;
}> {
  const { code, ...kept } = await generateCode(clock);
  await store.access.requestPairing({ platform, person, ...kept, ...LIMITS, now: clock.now() });
  return { code, expiresAt: kept.expiresAt };
}

/** Links the account that gives the code to the person of the code. */
export async function redeemLinkCode(
  input: PairingContext & { readonly source: Source; readonly code: string },
): Promise<{ readonly person: PersonId; readonly account: AccountName } | Refused> {
  const { store, clock, source } = input;
  if (source.chatType !== "dm")
    return refuse("not_allowed", "Others read along here. Give the code in a direct chat.");
  const account = getAskerAccount(source);
  const name = `link:${source.platform}:${account.altId ?? account.userId}`;
  const found = await findPairingByCode(input, name, async () => {
    const open = await store.access.listPairings({ platform: source.platform, now: clock.now() });
    return open.filter(({ person }) => person !== undefined);
  });
  if (isRefused(found)) return found;
  return store.access.redeemPairing({ pairing: found.number, account, now: clock.now() });
}

/** `abcd-efgh`, `ABCD EFGH`, `ABCDEFGH`, with any kind of dash; undefined for a text that cannot be a code. */
export function parsePairingCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s\p{Pd}]/gu, "").toUpperCase();
  return code.length === LENGTH && [...code].every((letter) => ALPHABET.includes(letter)) ? code : undefined;
}

const LIMITS = { everyMs: PAIRING_INTERVAL_MS, maxPending: MAX_PENDING };

/**
 * A code as it is shown, and its stored hash. Codes of strangers share a salt while one of them is open, so that the
 * owner's answer is hashed once. A code that links has a salt of its own: it grants access by itself.
 */
async function generateCode(clock: PairingContext["clock"], shared?: string) {
  const letters = [...clock.random(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
  const salt = shared ?? Buffer.from(clock.random(16)).toString("hex");
  return {
    code: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    salt,
    hash: (await hashCode(letters, salt)).toString("hex"),
    expiresAt: clock.now() + CODE_TTL_MS,
  };
}

/**
 * Finds the open code. The guess is counted before the comparison, so that many guesses lock an account out, however
 * fast they are. Every open code is compared, also after the right one, and each in constant time.
 */
async function findPairingByCode<Open extends Pairing>(
  { store, clock, code: typed }: PairingContext & { readonly code: string },
  name: string,
  open: () => Promise<readonly Open[]>,
): Promise<Open | Refused> {
  const code = parsePairingCode(typed);
  // Not counted as a guess: it reveals nothing, and a typing error must not lock anyone out.
  if (code === undefined)
    return refuse("invalid_input", "A code has eight letters and digits, such as ABCD-EFGH.", {
      field: "code",
    });
  const now = clock.now();
  const counted = await store.access.countGuess({ name, maxGuesses: MAX_GUESSES, lockMs: LOCK_MS, now });
  if (!counted.allowed) {
    const when = formatTimeUntil(counted.until, now);
    return refuse("locked_out", `Too many wrong codes were given here. Try again ${when}.`, {
      until: counted.until,
    });
  }
  const pairings = await open();
  const salts = [...new Set(pairings.map(({ salt }) => salt))];
  const hashes = new Map(
    await Promise.all(salts.map(async (salt) => [salt, await hashCode(code, salt)] as const)),
  );
  const [right] = pairings.filter(({ salt, hash }) => {
    const [given, kept] = [hashes.get(salt), Buffer.from(hash, "hex")];
    return given !== undefined && given.length === kept.length && timingSafeEqual(given, kept);
  });
  if (right === undefined)
    return refuse("not_found", "There is no such code, or it is too old: codes are good for an hour.");
  await store.access.clearGuesses({ name });
  return right;
}

/**
 * A slow hash: a code has 40 bits, and with a fast hash a copy of the file would reveal it within minutes, although it
 * may grant the rights of the owner. With this one, trying all codes takes longer than a code is valid.
 */
function hashCode(code: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(code, Buffer.from(salt, "hex"), 32, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}

type StrangerPairing = Pairing & { readonly asker: Source };

function isStrangerPairing(pairing: Pairing): pairing is StrangerPairing {
  return pairing.asker !== undefined && pairing.person === undefined;
}

/** A sender without an id is identified by the direct chat. */
export function getAskerAccount({ platform, chatId, userId, userIdAlt, userName }: Source): AccountName {
  const id = userId ?? (userIdAlt === undefined ? chatId : undefined);
  return {
    platform,
    ...(id !== undefined && { userId: id }),
    ...(userIdAlt !== undefined && { altId: userIdAlt }),
    ...(userName !== undefined && { name: userName }),
  };
}

function isSameAccount(one: Source, other: Source): boolean {
  const [a, b] = [getAskerAccount(one), getAskerAccount(other)];
  if (a.platform !== b.platform) return false;
  return (a.altId !== undefined && a.altId === b.altId) || (a.userId !== undefined && a.userId === b.userId);
}
