import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import { resolveSocketPath } from "./socket-path.ts";

describe("the path of the keeper's socket", () => {
  const long = `/${"long/".repeat(30)}`;

  it("is in the home, or in a private folder if that path is too long for a socket", () => {
    expect(resolveSocketPath("/home/ann/.postrider")).toBe("/home/ann/.postrider/keeper.sock");
    const { path, remove } = temporaryFolder();
    onTestFinished(remove);
    const socket = resolveSocketPath(long, path);
    expect(socket.startsWith(join(path, `postrider-${userInfo().uid}`))).toBe(true);
    expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
    expect(resolveSocketPath(long, path)).toBe(socket);
    expect(resolveSocketPath(`${long}other`, path)).not.toBe(socket);
  });

  it("is neither in a folder that other users can open nor behind a link", () => {
    const { path, remove } = temporaryFolder();
    onTestFinished(remove);
    const folder = join(path, `postrider-${userInfo().uid}`);
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    expect(() => resolveSocketPath(long, path)).toThrow(/that you own and that no other user can open/);

    const elsewhere = temporaryFolder();
    onTestFinished(elsewhere.remove);
    mkdirSync(join(elsewhere.path, "private"), { mode: 0o700 });
    symlinkSync(join(elsewhere.path, "private"), join(elsewhere.path, `postrider-${userInfo().uid}`));
    expect(() => resolveSocketPath(long, elsewhere.path)).toThrow(
      /that you own and that no other user can open/,
    );
  });
});
