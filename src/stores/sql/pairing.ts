import type { AccountName, Pairing, PairingRequest, PairingRequestResult } from "../../core/access.ts";
import { PostriderError } from "../../core/errors.ts";
import { getParticipant } from "../../core/identity.ts";
import type { PersonId } from "../../core/owner.ts";
import { isRefused, type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import { setRole, toAccountName } from "./access.ts";
import { resolveAccount } from "./accounts.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";
import { linkAccount } from "./link-account.ts";
import {
  deleteOldRequestsSql,
  deletePairingSql,
  deleteRequests,
  insertPairingSql,
  pairingByNumberSql,
  selectLastRequest,
  validPairingsOnPlatformSql,
  validPairingsSql,
} from "./statements/pairings.ts";

interface PairingRow {
  n: number;
  platform: string;
  user_id: string | null;
  asker: string | null;
  person: string | null;
  salt: string;
  hash: string;
  asked_at: number;
  expires_at: number;
}

export function requestPairing(db: Db, input: PairingRequest): PairingRequestResult {
  const { platform, asker, person, now } = input;
  if (asker === undefined && person === undefined) {
    throw new PostriderError("invalid_input", "A code needs a sender or a person to link to.", {
      details: { field: "asker" },
    });
  }
  const ids = asker === undefined ? [] : getSenderIds(asker);
  if (ids.length > 0) {
    const last = db.get<{ at: number | null }>(selectLastRequest(ids.length), platform, ...ids);
    const at = last?.at ?? Number.NEGATIVE_INFINITY;
    const until = isFromFuture(at, now) ? now : at + input.everyMs;
    if (until > now) return { state: "too_soon", until };
    db.send(deleteRequests(ids.length), platform, ...ids);
    // Requests of others must not block this one: the oldest requests are deleted.
    db.send(deleteOldRequestsSql, platform, platform, input.maxPending - 1);
  }
  const number = db.insert(
    insertPairingSql,
    platform,
    ids[0] ?? null,
    asker === undefined ? null : JSON.stringify(asker),
    person ?? null,
    input.salt,
    input.hash,
    now,
    input.expiresAt,
  );
  return { state: "asked", number: number };
}

/** A sender without an id is identified by the direct chat. */
function getSenderIds({ userId, userIdAlt, chatId }: Source): string[] {
  const ids = [userId, userIdAlt].filter((id) => id !== undefined);
  return ids.length > 0 ? ids : [chatId];
}

export function redeemPairing(
  db: Db,
  input: { pairing: number; account?: AccountName; now: number },
): { person: PersonId; account: AccountName } | Refused {
  const { pairing, now } = input;
  const row = db.get<PairingRow>(pairingByNumberSql, pairing);
  if (row === undefined) return refuse("not_found", "There is no such code.");
  if (row.expires_at <= now) return refuse("expired", "That code has expired. Ask for a new one.");
  const asker = parseObject<Source>(row.asker);
  const used =
    row.person === null ? admitMember(db, asker, now) : linkPairedAccount(db, row.person, asker, input);
  if (!isRefused(used)) db.send(deletePairingSql, pairing);
  return used;
}

/** Makes the sender of the request a member. */
function admitMember(
  db: Db,
  asker: Source | undefined,
  now: number,
): { person: PersonId; account: AccountName } | Refused {
  if (asker === undefined) return refuse("not_found", "There is no such code.");
  const known = resolveAccount(db, asker, getParticipant(asker) ?? { id: asker.chatId }, undefined, now);
  setRole(db, { person: known.person, role: "member", now });
  return { person: known.person, account: addName(toAccountName(known), asker.userName) };
}

function linkPairedAccount(
  db: Db,
  person: PersonId,
  asker: Source | undefined,
  input: { account?: AccountName; now: number },
): { person: PersonId; account: AccountName } | Refused {
  const account = input.account ?? (asker && buildAccountName(asker));
  if (account === undefined)
    return refuse("invalid_input", "This code links an account. Name the account.", { field: "account" });
  const linked = linkAccount(db, { account, person, now: input.now });
  return isRefused(linked) ? linked : { person, account };
}

function buildAccountName({ platform, userId, userIdAlt, userName, chatId }: Source): AccountName {
  const id = userId ?? (userIdAlt === undefined ? chatId : undefined);
  return addName(
    {
      platform,
      ...(id !== undefined && { userId: id }),
      ...(userIdAlt !== undefined && { altId: userIdAlt }),
    },
    userName,
  );
}

function addName(account: AccountName, name: string | undefined): AccountName {
  return name === undefined ? account : { ...account, name };
}

/** Stored under a clock that was ahead. Such a code no longer counts, and does not block a new request. */
function isFromFuture(at: number, now: number): boolean {
  return at > now + 60_000;
}

export function listPairings(db: Db, input: { platform?: string; now: number }): Pairing[] {
  const rows =
    input.platform === undefined
      ? db.all<PairingRow>(validPairingsSql, input.now)
      : db.all<PairingRow>(validPairingsOnPlatformSql, input.now, input.platform);
  const valid = rows.filter((row) => !isFromFuture(row.asked_at, input.now));
  return valid.map((row) => {
    const asker = parseObject<Source>(row.asker);
    return {
      number: row.n,
      platform: row.platform,
      ...(asker !== undefined && { asker }),
      ...(row.person !== null && { person: row.person }),
      salt: row.salt,
      hash: row.hash,
      askedAt: row.asked_at,
      expiresAt: row.expires_at,
    };
  });
}
