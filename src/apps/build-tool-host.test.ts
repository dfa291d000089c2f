import { statSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import { getMemoryOwner } from "../core/memory.ts";
import { sqliteStore } from "../stores/sqlite/store.ts";
import { systemClock } from "../system/system-clock.ts";
import { buildToolHost } from "./build-tool-host.ts";
import { connectHomeProcesses } from "./connect-home-processes.ts";
import { resolveHome } from "./home.ts";

it("gives every person a private workspace of their own, for any name", async () => {
  const folder = temporaryFolder();
  const home = resolveHome({ POSTRIDER_HOME: folder.path });
  const store = await sqliteStore({ file: home.database, mode: "in-process" });
  const processes = connectHomeProcesses(home, store, systemClock);
  const { workspace, environment } = buildToolHost({
    home,
    environment: {},
    processes,
    config: () => undefined,
  });
  const person = fc.oneof(
    fc.constantFrom("owner", "p_1", "p-1", "..", "/", ""),
    fc.string({ unit: "binary" }),
  );
  const owner = fc
    .record({ owner: person, audience: fc.option(person, { nil: undefined }) })
    .map(({ owner: who, audience }) =>
      getMemoryOwner({ owner: who, ...(audience !== undefined && { audience }) }),
    );
  const given = new Map<string, string>();
  try {
    fc.assert(
      fc.property(owner, (who) => {
        const theirs = workspace(who);
        expect(dirname(theirs)).toBe(`${folder.path}.workspace`);
        expect(statSync(theirs).mode & 0o777).toBe(0o700);
        expect(given.get(theirs) ?? who).toBe(who);
        given.set(theirs, who);
      }),
      { numRuns: 300 },
    );
    expect(statSync(`${folder.path}.workspace`).mode & 0o777).toBe(0o700);
    expect(environment([])).toMatchObject({ POSTRIDER_RUN_BY_AGENT: "1" });
  } finally {
    await processes.close();
    await store.close();
    folder.remove();
  }
});
