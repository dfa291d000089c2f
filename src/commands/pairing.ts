import { scrypt, timingSafeEqual } from "node:crypto";
import type { AccountName, Pairing } from "../core/access.ts";
import { text } from "../core/message.ts";
import type { PersonId } from "../core/owner.ts";
import { isRefused, type Refused, refuse } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { distance } from "./when.ts";

/** Without the letters and digits that people take for one another. 32 of them, so that no random byte is favoured. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 8;
const MINUTE = 60_000;
export const CODE_TTL_MS: number = 60 * MINUTE;
/** One request per account in this time. */
export const EVERY_MS: number = 10 * MINUTE;
/** Requests that are kept per platform: the oldest makes room for one more. */
const MOST_PENDING = 1000;
const MOST_GUESSES = 5;
const LOCK_MS = 60 * MINUTE;

interface Pairs {
  readonly store: Store;
  readonly clock: Pick<Clock, "now" | "random">;
}

export type LetIn =
  | { readonly state: "asked"; readonly code: string }
  | { readonly state: "too_soon"; readonly until: number };

/** A code for a stranger, who gives it to the owner. One per account in a while, whatever others ask for. */
export async function askToBeLetIn({ store, clock, source }: Pairs & { source: Source }): Promise<LetIn> {
  const { platform } = source;
  const now = clock.now();
  // The store decides, in one commit. It is looked at first because a hash is costly and strangers may write often.
  const open = (await store.pairings({ now })).filter(isAsked);
  const until = waitOf(open, source, now);
  if (until !== undefined) return { state: "too_soon", until };
  const { code, ...kept } = await newCode(clock, open[0]?.salt);
  const asked = await store.askPairing({ platform, asker: source, ...kept, ...LIMITS, now });
  return asked.state === "asked" ? { state: "asked", code } : asked;
}

/** Until when the account gets no further code; undefined when it may ask now. */
export async function askedUntil({
  store,
  clock,
  source,
}: Pairs & { source: Source }): Promise<number | undefined> {
  const now = clock.now();
  return waitOf((await store.pairings({ platform: source.platform, now })).filter(isAsked), source, now);
}

function waitOf(open: readonly AskedPairing[], source: Source, now: number): number | undefined {
  const own = open.find(({ asker }) => isSame(asker, source));
  return own !== undefined && own.askedAt + EVERY_MS > now ? own.askedAt + EVERY_MS : undefined;
}

/** The text that a stranger gets. Nothing without a new code: then they have one already. */
export function strangerText(letIn: LetIn): string | undefined {
  if (letIn.state !== "asked") return undefined;
  return `I do not know you yet. Give this code to whoever runs me, within an hour: \`${letIn.code}\`\n\nThey let you in with \`postrider pair approve ${letIn.code}\`, or by saying \`/pair approve ${letIn.code}\` to me.`;
}

export interface Approved {
  readonly person: PersonId;
  readonly account: AccountName;
  readonly asker: Source;
}

/** Whoever asked with this code may speak, and is told so in their chat as soon as a gateway runs. */
export async function approve(
  input: Pairs & { readonly code: string; readonly platform?: string | undefined },
): Promise<Approved | Refused> {
  const { store, clock, platform } = input;
  const found = await guess(input, "approve", async () =>
    (await store.pairings({ now: clock.now(), ...(platform !== undefined && { platform }) })).filter(isAsked),
  );
  if (isRefused(found)) return found;
  const now = clock.now();
  const used = await store.usePairing({ pairing: found.number, now });
  if (isRefused(used)) return used;
  const { asker } = found;
  // Begun by nobody: whichever gateway is connected there sends it.
  await store.enqueue({ deliveries: [{ target: asker, parts: [text(WELCOME)] }], runner: "", now });
  return { ...used, asker };
}

const WELCOME = "You are let in. Say something, and I will answer; /help lists what else I can do.";

/** A code for a person who gives it in a chat of theirs: the account there becomes one of theirs. */
export async function linkCode({
  store,
  clock,
  platform,
  person,
}: Pairs & { readonly platform: string; readonly person: PersonId }): Promise<{
  readonly code: string;
  readonly expiresAt: number;
}> {
  const { code, ...kept } = await newCode(clock);
  await store.askPairing({ platform, person, ...kept, ...LIMITS, now: clock.now() });
  return { code, expiresAt: kept.expiresAt };
}

/** The account that gives the code becomes the person's. */
export async function useLinkCode(
  input: Pairs & { readonly source: Source; readonly code: string },
): Promise<{ readonly person: PersonId; readonly account: AccountName } | Refused> {
  const { store, clock, source } = input;
  if (source.chatType !== "dm")
    return refuse("not_allowed", "Others read along here. Give the code in a direct chat.");
  const account = askerAccount(source);
  const name = `link:${source.platform}:${account.altId ?? account.userId}`;
  const found = await guess(input, name, async () => {
    const open = await store.pairings({ platform: source.platform, now: clock.now() });
    return open.filter(({ person }) => person !== undefined);
  });
  if (isRefused(found)) return found;
  return store.usePairing({ pairing: found.number, account, now: clock.now() });
}

/** `abcd-efgh`, `ABCD EFGH`, `ABCDEFGH`, with whatever dash a keyboard makes of it; undefined for what cannot be a code. */
export function readCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s\p{Pd}]/gu, "").toUpperCase();
  return code.length === LENGTH && [...code].every((letter) => ALPHABET.includes(letter)) ? code : undefined;
}

const LIMITS = { everyMs: EVERY_MS, mostPending: MOST_PENDING };

/**
 * A code as it is shown, and what is stored of it. Codes of strangers share a salt while one of them is open, so that the
 * owner's answer is hashed once, however many ask. A code that links has a salt of its own: it opens a door by itself.
 */
async function newCode(clock: Pairs["clock"], shared?: string) {
  const letters = [...clock.random(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
  const salt = shared ?? Buffer.from(clock.random(16)).toString("hex");
  return {
    code: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    salt,
    hash: (await hashed(letters, salt)).toString("hex"),
    expiresAt: clock.now() + CODE_TTL_MS,
  };
}

/**
 * The open code that was meant. The guess is counted before anything is compared, so that whoever tries often is locked
 * out however fast they are. Every open code is compared, also after the right one, and each in constant time.
 */
async function guess<Open extends Pairing>(
  { store, clock, code: typed }: Pairs & { readonly code: string },
  name: string,
  open: () => Promise<readonly Open[]>,
): Promise<Open | Refused> {
  const code = readCode(typed);
  // No guess at all: nothing is told by it, and a slip of the finger should not lock anyone out.
  if (code === undefined)
    return refuse("invalid_input", "A code has eight letters and digits, such as ABCD-EFGH.", {
      field: "code",
    });
  const now = clock.now();
  const counted = await store.countGuess({ name, most: MOST_GUESSES, lockMs: LOCK_MS, now });
  if (!counted.allowed) {
    const when = distance(counted.until, now);
    return refuse("locked_out", `Too many wrong codes were given here. Try again ${when}.`, {
      until: counted.until,
    });
  }
  const pairings = await open();
  const salts = [...new Set(pairings.map(({ salt }) => salt))];
  const hashes = new Map(
    await Promise.all(salts.map(async (salt) => [salt, await hashed(code, salt)] as const)),
  );
  const [right] = pairings.filter(({ salt, hash }) => {
    const [given, kept] = [hashes.get(salt), Buffer.from(hash, "hex")];
    return given !== undefined && given.length === kept.length && timingSafeEqual(given, kept);
  });
  if (right === undefined)
    return refuse("not_found", "There is no such code, or it is too old: codes are good for an hour.");
  await store.clearGuesses({ name });
  return right;
}

/**
 * A slow hash: a code has 40 bits, which a fast one would give away within minutes to whoever got hold of a copy of the
 * file, and a code that links makes its finder the owner. With this one, trying takes longer than a code is good for.
 */
function hashed(code: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(code, Buffer.from(salt, "hex"), 32, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}

type AskedPairing = Pairing & { readonly asker: Source };

function isAsked(pairing: Pairing): pairing is AskedPairing {
  return pairing.asker !== undefined && pairing.person === undefined;
}

/** Whoever writes without an id is known by the direct chat. */
export function askerAccount({ platform, chatId, userId, userIdAlt, userName }: Source): AccountName {
  const id = userId ?? (userIdAlt === undefined ? chatId : undefined);
  return {
    platform,
    ...(id !== undefined && { userId: id }),
    ...(userIdAlt !== undefined && { altId: userIdAlt }),
    ...(userName !== undefined && { name: userName }),
  };
}

function isSame(one: Source, other: Source): boolean {
  const [a, b] = [askerAccount(one), askerAccount(other)];
  if (a.platform !== b.platform) return false;
  return (a.altId !== undefined && a.altId === b.altId) || (a.userId !== undefined && a.userId === b.userId);
}
