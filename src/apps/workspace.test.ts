import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import { resolveHome } from "./home.ts";
import { formatManualMove, makeWorkspace, moveFormerWorkspaces, resolveWorkspaces } from "./workspace.ts";

function room() {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  const home = resolveHome({ POSTRIDER_HOME: join(path, "home") });
  const former = join(home.folder, "workspace");
  mkdirSync(join(former, "owner"), { recursive: true, mode: 0o700 });
  writeFileSync(join(former, "owner", "plan.md"), "the plan");
  return {
    path,
    home,
    former,
    plan: (folder: string) => readFileSync(join(folder, "owner", "plan.md"), "utf8"),
  };
}

describe("the workspace of agents in messengers", () => {
  it("is outside the home, and differs for every home", () => {
    const usual = resolveHome({});
    expect(usual.workspaces).toBe(join(homedir(), "postrider-workspace"));
    expect(resolveHome({ POSTRIDER_HOME: join(homedir(), ".postrider") }).workspaces).toBe(usual.workspaces);
    const names = ["postrider", "postrider/", ".postrider/", ".postrider-2", "postrider-workspace"];
    const all = names.map((name) => resolveHome({ POSTRIDER_HOME: `${homedir()}/${name}` }));
    const byHome = new Map([usual, ...all].map(({ folder, workspaces }) => [folder, workspaces]));
    expect(new Set(byHome.values()).size).toBe(byHome.size);
    for (const { folder, workspaces } of all) expect(`${workspaces}/`.startsWith(`${folder}/`)).toBe(false);
  });

  it("is the configured folder, and is private", () => {
    const { path, home } = room();
    const workspaces = resolveWorkspaces(home, { workspace: join(path, "deep", "work") });
    expect(makeWorkspace(workspaces, "owner")).toBe(join(path, "deep", "work", "owner"));
    for (const folder of ["deep", "deep/work", "deep/work/owner"])
      expect(statSync(join(path, folder)).mode & 0o777).toBe(0o700);
  });

  it("names its setting when it cannot be created", () => {
    const { path } = room();
    writeFileSync(join(path, "file"), "");
    expect(() => makeWorkspace(join(path, "file"), "owner")).toThrow(
      /Cannot create the workspace folder .* \(\w+\)\. Set tools\.workspace/,
    );
  });
});

describe("the workspaces of earlier versions in the home", () => {
  it("are moved in one step", () => {
    const { home, former, plan } = room();
    expect(moveFormerWorkspaces(home, home.workspaces)).toEqual({ state: "moved", from: former });
    expect(plan(home.workspaces)).toBe("the plan");
    expect(existsSync(former)).toBe(false);
    expect(moveFormerWorkspaces(home, home.workspaces)).toEqual({ state: "none" });
  });

  it("are moved to an empty folder, and to one with missing parents", () => {
    const { path, home, plan } = room();
    const workspaces = join(path, "a", "b");
    mkdirSync(workspaces, { recursive: true });
    expect(moveFormerWorkspaces(home, workspaces).state).toBe("moved");
    expect(plan(workspaces)).toBe("the plan");
  });

  it("are not moved when the new folder contains files", () => {
    const { home, former, plan } = room();
    makeWorkspace(home.workspaces, "owner");
    const moved = moveFormerWorkspaces(home, home.workspaces);
    expect(moved).toMatchObject({ state: "left", from: former, why: expect.stringContaining("already") });
    expect(plan(former)).toBe("the plan");
    expect(formatManualMove(former, home.workspaces)).toContain(former);
  });

  it.skipIf(!existsSync("/dev/shm") || statSync("/dev/shm").dev === statSync("/tmp").dev)(
    "stays where it is when the new place is on another file system",
    () => {
      const { home, former, plan } = room();
      const other = mkdtempSync("/dev/shm/postrider-test-");
      onTestFinished(() => rmSync(other, { recursive: true }));
      const moved = moveFormerWorkspaces(home, join(other, "work"));
      expect(moved).toMatchObject({ state: "left", why: expect.stringContaining("another file system") });
      expect(plan(former)).toBe("the plan");
    },
  );

  it("are not moved when they are a link", () => {
    const { path, home, former, plan } = room();
    rmSync(former, { recursive: true });
    mkdirSync(join(path, "big", "owner"), { recursive: true });
    writeFileSync(join(path, "big", "owner", "plan.md"), "the plan");
    symlinkSync("../big", former);
    expect(moveFormerWorkspaces(home, home.workspaces)).toMatchObject({ state: "left", why: "it is a link" });
    expect(lstatSync(former).isSymbolicLink()).toBe(true);
    expect(plan(former)).toBe("the plan");
  });
});
