import { describe, expect, it } from "vitest";
import { parseDistributionName, readMachine } from "./machine.ts";

describe("the machine description for the model", () => {
  it.each([
    [
      'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n',
      "Debian GNU/Linux 12",
    ],
    ["NAME=Fedora\nVERSION_ID=41\n", "Fedora 41"],
    ["NAME='Arch Linux'\nID=arch\n", "Arch Linux"],
    ["", undefined],
    ["ID=thing\n", undefined],
  ])("has the name of its distribution: %j", (text, name) => {
    expect(parseDistributionName(text)).toBe(name);
  });

  it("has a system and a shell, each on one line", () => {
    const { system, shell } = readMachine();
    expect(system).toMatch(process.platform === "linux" ? /^Linux( \([^\n]+\))?$/ : /^\S.+$/);
    expect(shell).toMatch(/^\/\S+\/(ba)?sh$/);
  });
});
