import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import { makeFifos } from "./make-fifos.ts";

it("makes the named pipes of many starts at once, and only impossible ones fail", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const good = Array.from({ length: 100 }, (_, at) => [
    join(folder.path, `a${at}`),
    join(folder.path, `b${at}`),
  ]);
  const bad = [join(folder.path, "missing", "a")];
  const results = await Promise.allSettled([...good.slice(0, 50), bad, ...good.slice(50)].map(makeFifos));
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(results[50]?.status).toBe("rejected");
  for (const path of good.flat()) {
    const made = statSync(path);
    expect([made.isFIFO(), made.mode & 0o777]).toEqual([true, 0o600]);
  }
});
