import { RUNNER_DEAD_MS } from "../../../core/runner.ts";

export const runnerByIdSql = "select * from runners where id = ?";
export const runnersWithPidSql = "select * from runners where pid = ?";
/** The first heartbeat after a silence that was long enough to count as dead is recorded. */
export const upsertRunnerSql: string = `
insert into runners (id, host, boot, pid, started, heartbeat, suspended) values (?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set heartbeat = excluded.heartbeat, suspended = excluded.suspended,
  resumed_at = case when excluded.heartbeat - runners.heartbeat > ${RUNNER_DEAD_MS}
    then excluded.heartbeat else runners.resumed_at end`;
export const deleteRunnerSql = "delete from runners where id = ?";
export const requestDrainSql = "update runners set drain_at = coalesce(drain_at, ?) where id = ?";
export const drainRequestedSql = "select id from runners where id = ? and drain_at is not null";
