import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { changeSettings } from "./settings-file.ts";

let folder: string;
let file: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  folder = temporary.path;
  file = join(folder, "settings.json");
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe("changeSettings", () => {
  it("creates a missing file and its folders, readable only by their owner", () => {
    file = join(folder, "config", "zed", "settings.json");
    changeSettings(file, (text) => `${text}{}`);
    expect(readFileSync(file, "utf8")).toBe("{}");
    expect([modeOf(file), modeOf(join(folder, "config")), modeOf(join(folder, "config", "zed"))]).toEqual([
      0o600, 0o700, 0o700,
    ]);
  });

  it.each([0o644, 0o600, 0o664])("keeps the mode %i of a file, and leaves no temporary file", (mode) => {
    writeFileSync(file, "\ufeff{} // ü\r\n");
    chmodSync(file, mode);
    changeSettings(file, (text) => `${text}more`);
    expect(readFileSync(file, "utf8")).toBe("\ufeff{} // ü\r\nmore");
    expect(modeOf(file)).toBe(mode);
    expect(readdirSync(folder)).toEqual(["settings.json"]);
  });

  it("changes the target of a symbolic link, and keeps the link", () => {
    const kept = join(folder, "dotfiles");
    mkdirSync(kept);
    writeFileSync(join(kept, "zed.json"), "{}");
    symlinkSync(join("dotfiles", "zed.json"), file);
    changeSettings(file, () => "{ }");
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readlinkSync(file)).toBe(join("dotfiles", "zed.json"));
    expect(readFileSync(join(kept, "zed.json"), "utf8")).toBe("{ }");
    expect(readdirSync(kept)).toEqual(["zed.json"]);
  });

  it("does not change a broken link, and reports it", () => {
    symlinkSync("nowhere.json", file);
    expect(() => changeSettings(file, () => "{}")).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining("nowhere.json") }),
    );
    expect(readlinkSync(file)).toBe("nowhere.json");
    expect(readdirSync(folder)).toEqual(["settings.json"]);
  });

  it("writes nothing if nothing changes or the change is refused", () => {
    writeFileSync(file, "{}");
    const before = statSync(file, { bigint: true });
    changeSettings(file, () => undefined);
    expect(() =>
      changeSettings(file, () => {
        throw new Error("no");
      }),
    ).toThrow("no");
    const { ino, mtimeNs } = statSync(file, { bigint: true });
    expect([ino, mtimeNs]).toEqual([before.ino, before.mtimeNs]);
    changeSettings(join(folder, "absent", "settings.json"), () => undefined);
    expect(readdirSync(folder)).toEqual(["settings.json"]);
  });

  it("does not overwrite a concurrent change of the editor", () => {
    writeFileSync(file, "one");
    let calls = 0;
    changeSettings(file, (text) => {
      calls += 1;
      if (calls === 1) writeFileSync(file, "two");
      return `${text}+`;
    });
    expect([readFileSync(file, "utf8"), calls]).toEqual(["two+", 2]);
  });

  it("gives up on a file that changes all the time", () => {
    writeFileSync(file, "0");
    let calls = 0;
    expect(() =>
      changeSettings(file, () => {
        calls += 1;
        writeFileSync(file, String(calls));
        return "mine";
      }),
    ).toThrow(expect.objectContaining({ code: "busy" }));
    expect(readFileSync(file, "utf8")).toBe(String(calls));
    expect(readdirSync(folder)).toEqual(["settings.json"]);
  });

  it("refuses a file that is not text, not a file, or not readable", () => {
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => changeSettings(file, () => "{}")).toThrow(/is not UTF-8 text\. Nothing was written\.$/);
    expect(readFileSync(file)).toEqual(Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => changeSettings(folder, () => "{}")).toThrow(/is not a file/);
    expect(() => changeSettings(join(file, "settings.json"), () => "{}")).toThrow(
      expect.objectContaining({ code: "read_only" }),
    );
  });

  // Root may write to protected files.
  it.skipIf(process.getuid?.() === 0)("does not replace a file that its owner has protected", () => {
    writeFileSync(file, "{}");
    chmodSync(file, 0o444);
    expect(() => changeSettings(file, () => "other")).toThrow(expect.objectContaining({ code: "read_only" }));
    expect(readFileSync(file, "utf8")).toBe("{}");
  });
});
