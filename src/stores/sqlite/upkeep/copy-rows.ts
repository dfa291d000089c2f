import { isOwnPidScope } from "../../../system/process-identity.ts";
import type { CopyEnd, CopyRow, RowRequest, StoreUser } from "../../copy/copy-end.ts";
import { hasRunnerProcess } from "../../sql/runners.ts";
import type { SqliteDb } from "../connection.ts";

const { realpathSync } = process.getBuiltinModule("node:fs");

const columnsSql = "select name from pragma_table_info(?) order by cid";
const sequenceSql = "select seq from sqlite_sequence where name = ?";
const usersSql = `
select r.id, r.host, r.boot, r.pid, (select min(l.name) from leases l where l.runner = r.id
  and (l.name like 'gateway%' or l.name like 'worker%')) as lease
from runners r order by r.pid`;

type RunnerRow = StoreUser & { readonly id: string; readonly boot: string };

/** The reads of a copy. The caller owns the connection and its transaction. */
export function createSqliteRows(db: SqliteDb): Omit<CopyEnd, "close"> {
  return {
    name: `sqlite:${realpathSync(db.file)}`,
    async listColumns({ name }) {
      return db.all<{ name: string }>(columnsSql, name).map((column) => column.name);
    },
    async countRows({ name }) {
      return db.get<{ n: number }>(`select count(*) as n from ${quote(name)}`)?.n ?? 0;
    },
    async readRows(request) {
      const { after = [], limit } = request;
      return db.exactRows(buildSelect(request), ...after, limit) as unknown as CopyRow[];
    },
    async readSequence({ name }) {
      const [row] = db.exactRows(sequenceSql, name);
      return (row?.[0] as bigint | undefined) ?? 0n;
    },
    async listUsers(now) {
      return (
        db
          .all<RunnerRow>(usersSql)
          // A process in another container may have the pid of this one.
          .filter(({ boot, pid }) => pid !== process.pid || !isOwnPidScope(boot))
          .filter(({ id }) => hasRunnerProcess(db, id, now))
          .map(({ pid, host, lease }) => ({ pid, host, lease }))
      );
    },
  };
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function buildSelect({ table, columns, after }: RowRequest): string {
  const key = table.key.map(quote).join(", ");
  const start = after === undefined ? "" : `where (${key}) > (${table.key.map(() => "?").join(", ")})`;
  return `select ${columns.map(quote).join(", ")} from ${quote(table.name)} ${start} order by ${key} limit ?`;
}
