import { PostriderError } from "../core/errors.ts";
import type { CopySource, CopyTarget } from "../stores/copy/copy-end.ts";
import { prepareAsyncTwin, readPostgresAddress, type StoreAddress } from "./open-store.ts";

/** Reads `sqlite:FILE` or `postgres://…`. `argument` names the text in the error, which never contains it. */
export function parseStoreAddress(text: string, argument: string, homeFolder: string): StoreAddress {
  if (/^postgres(?:ql)?:\/\//.test(text)) return { kind: "postgres", url: text };
  const file = /^sqlite:(.+)$/s.exec(text)?.[1];
  // The shell expands ~ only at the start of a word.
  if (file !== undefined) return { kind: "sqlite", file: file.replace(/^~(?=\/)/, homeFolder) };
  throw new PostriderError(
    "invalid_input",
    `${argument} is not the address of a store. Write sqlite:FILE or postgres://user:password@host/database.`,
    { details: { field: argument, arguments: true } },
  );
}

export async function openCopySource(address: StoreAddress): Promise<CopySource> {
  if (address.kind === "sqlite") {
    const { openSqliteSource } = await import("../stores/sqlite/upkeep/copy-source.ts");
    return openSqliteSource(address.file);
  }
  await prepareAsyncTwin();
  const { openPostgresSource } = await import("../stores/postgres/copy/source.ts");
  return openPostgresSource(readPostgresAddress(address.url));
}

export async function openCopyTarget(address: StoreAddress): Promise<CopyTarget> {
  if (address.kind === "sqlite") {
    const { openSqliteTarget } = await import("../stores/sqlite/upkeep/copy-target.ts");
    return openSqliteTarget(address.file);
  }
  await prepareAsyncTwin();
  const { openPostgresTarget } = await import("../stores/postgres/copy/target.ts");
  return openPostgresTarget(readPostgresAddress(address.url));
}
