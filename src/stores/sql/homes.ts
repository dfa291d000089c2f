import type { HomeChannel } from "../../core/session-context.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";

export function setHomeChannel(db: Db, { home, now }: { home: HomeChannel; now: number }): void {
  db.send(
    `insert into homes (platform, home, at) values (?, ?, ?)
     on conflict (platform) do update set home = excluded.home, at = excluded.at`,
    home.platform,
    JSON.stringify(home),
    now,
  );
}

export function listHomeChannels(db: Db): HomeChannel[] {
  return db
    .all<{ home: string }>("select home from homes order by platform")
    .flatMap(({ home }) => parseObject<HomeChannel>(home) ?? []);
}

export function removeHomeChannel(db: Db, { platform }: { platform: string }): boolean {
  return db.run("delete from homes where platform = ?", platform) > 0;
}
