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
  it("makes a file that is not there and its folders, for their owner alone", () => {
    file = join(folder, "config", "zed", "settings.json");
    changeSettings(file, (text) => `${text}{}`);
    expect(readFileSync(file, "utf8")).toBe("{}");
    expect([modeOf(file), modeOf(join(folder, "config")), modeOf(join(folder, "config", "zed"))]).toEqual([
      0o600, 0o700, 0o700,
    ]);
  });

  it.each([0o644, 0o600, 0o664])("keeps the mode %i of a file, and leaves nothing beside it", (mode) => {
    writeFileSync(file, "\ufeff{} // ü\r\n");
    chmodSync(file, mode);
    changeSettings(file, (text) => `${text}more`);
    expect(readFileSync(file, "utf8")).toBe("\ufeff{} // ü\r\nmore");
    expect(modeOf(file)).toBe(mode);
    expect(readdirSync(folder)).toEqual(["settings.json"]);
  });

  it("changes a file that is kept elsewhere there, and the link stays one", () => {
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

  it("leaves a link to nothing as it is, and says so", () => {
    symlinkSync("nowhere.json", file);
    expect(() => changeSettings(file, () => "{}")).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining("nowhere.json") }),
    );
    expect(readlinkSync(file)).toBe("nowhere.json");
    expect(readdirSync(folder)).toEqual(["settings.json"]);
  });

  it("writes nothing when there is nothing to change, or when the change is refused", () => {
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

  it("does not overwrite what the editor has written meanwhile", () => {
    writeFileSync(file, "one");
    let calls = 0;
    changeSettings(file, (text) => {
      calls += 1;
      if (calls === 1) writeFileSync(file, "two");
      return `${text}+`;
    });
    expect([readFileSync(file, "utf8"), calls]).toEqual(["two+", 2]);
  });

  it("gives up on a file that changes all the time, and leaves it to whoever changes it", () => {
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

  it("refuses what is no text, no file, or cannot be reached", () => {
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => changeSettings(file, () => "{}")).toThrow(/is not UTF-8 text\. Nothing was written\.$/);
    expect(readFileSync(file)).toEqual(Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => changeSettings(folder, () => "{}")).toThrow(/is not a file/);
    expect(() => changeSettings(join(file, "settings.json"), () => "{}")).toThrow(
      expect.objectContaining({ code: "read_only" }),
    );
  });

  // Root may write into whatever is protected.
  it.skipIf(process.getuid?.() === 0)("does not replace a file that its owner has protected", () => {
    writeFileSync(file, "{}");
    chmodSync(file, 0o444);
    expect(() => changeSettings(file, () => "other")).toThrow(expect.objectContaining({ code: "read_only" }));
    expect(readFileSync(file, "utf8")).toBe("{}");
  });
});
