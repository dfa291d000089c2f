import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { localRunner } from "./local-runner.ts";
import { readProcStat } from "./proc-stat.ts";
import { isAlive, isOtherProcess, isOwnPidScope, readStartTime } from "./process-identity.ts";

const isLinux = process.platform === "linux";
const { pid } = process;

describe.runIf(isLinux)("the identity of a process", () => {
  const boot = isLinux ? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() : "";
  const ticks = readProcStat(pid)?.startTicks ?? "";
  const startTime = readStartTime(pid) ?? "";

  it("contains the boot and the pid namespace, and recognizes this process", () => {
    expect(startTime).toMatch(new RegExp(`^${boot}/pid:\\[\\d+\\]/${ticks}$`));
    expect(localRunner().boot).toBe(startTime.slice(0, startTime.lastIndexOf("/")));
    expect([isAlive({ pid, startTime }), isOtherProcess({ pid, startTime })]).toEqual([true, false]);
  });

  it("is recognized as earlier versions stored it, without the namespace", () => {
    const old = { pid, startTime: `${boot}/${ticks}` };
    expect([isAlive(old), isOtherProcess(old), isOwnPidScope(boot)]).toEqual([true, false, true]);
  });

  it.each([
    ["namespace", `${boot}/pid:[1]`],
    ["boot", "b7d5"],
  ])("is that of another process under another %s, although pid and start time agree", (_, scope) => {
    const other = { pid, startTime: `${scope}/${ticks}` };
    expect([isAlive(other), isOtherProcess(other), isOwnPidScope(scope)]).toEqual([false, true, false]);
    // Also if no process has the pid here: its session or group may have another's number.
    expect(isOtherProcess({ pid: 4_194_999, startTime: other.startTime })).toBe(true);
    expect(isOtherProcess({ pid: 4_194_999, startTime })).toBe(false);
  });
});
