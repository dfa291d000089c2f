import type { NewMessage } from "../../core/message.ts";
import { ROLES } from "../../core/message.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./connection.ts";
import { parseObject } from "./json-columns.ts";
import { toMessageId } from "./rows.ts";

const USER = ROLES.indexOf("user");

/** From now on the message says itself whose it is, where so far only the turn that took it up has told. */
export function recordSender(db: Db, id: number, { platform, userId, userIdAlt }: Source): void {
  const [row] = db.rows("select meta from messages where id = ?", id);
  const stored = (row?.[0] as string | null | undefined) ?? "{}";
  const meta = parseObject<Partial<NewMessage>>(stored);
  if (meta === undefined) return; // what cannot be read is left as it is, for whoever mends it
  const origin = { ...meta.origin, platform, userId: userId ?? userIdAlt };
  db.run("update messages set meta = ? where id = ?", JSON.stringify({ ...meta, origin }), id);
}

/**
 * Before the row of an input goes: in what several people share, it may be all that tells who spoke. A turn answers its
 * last input's sender, so only that one is known.
 */
export function recordLastSender(db: Db, input: { n: number; turn: number; seq: number }): void {
  const { n, turn, seq } = input;
  const found = db.get<{ session: number; target: string }>(
    `select t.session, t.target from turns t join sessions s on s.n = t.session
     where t.n = ? and s.owner like 'chat:%'`,
    turn,
  );
  if (found === undefined) return;
  const id = toMessageId(found.session, seq);
  const unsigned = db.get(
    `select 1 from messages where id = ? and role = ${USER} and (text is not null or parts is not null)
       and (meta is null or (json_valid(meta) and json_extract(meta, '$.origin.userId') is null))`,
    id,
  );
  if (unsigned === undefined) return;
  const target = parseObject<Source>(found.target);
  if (target === undefined) return;
  if (target.userId === undefined && target.userIdAlt === undefined) return;
  const another = db.get(`select 1 from messages where id = ? and role = ${USER}`, id + 1);
  const isFollowed =
    another !== undefined &&
    db.get("select 1 from inbox where n > ? and turn = ? and seq = ?", n, turn, seq + 1) !== undefined;
  if (!isFollowed) recordSender(db, id, target);
}
