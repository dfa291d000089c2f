import { openCopySource, openCopyTarget, parseStoreAddress } from "../../src/apps/open-copy-end.ts";
import { copyStore } from "../../src/stores/copy/copy-store.ts";
import { say } from "../support/child.ts";

/** A process that copies a store and reports each step of its progress. */
const [from = "", to = ""] = process.argv.slice(2);
const source = await openCopySource(parseStoreAddress(from, "FROM", "~"));
const target = await openCopyTarget(parseStoreAddress(to, "TO", "~"));
const { copy } = await copyStore({
  source,
  target,
  restart: false,
  now: Date.now,
  onProgress: (step, done, all) => say({ step, part: done / all }),
});
say({ copy });
await target.close();
await source.close();
