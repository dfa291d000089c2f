import type { HomeChannel } from "../../core/session-context.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";
import { deleteHomeSql, homesSql, upsertHomeSql } from "./statements/homes.ts";

export function setHomeChannel(db: Db, { home, now }: { home: HomeChannel; now: number }): void {
  db.send(upsertHomeSql, home.platform, JSON.stringify(home), now);
}

export function listHomeChannels(db: Db): HomeChannel[] {
  return db.all<{ home: string }>(homesSql).flatMap(({ home }) => parseObject<HomeChannel>(home) ?? []);
}

export function removeHomeChannel(db: Db, { platform }: { platform: string }): boolean {
  return db.run(deleteHomeSql, platform) > 0;
}
