import { expect, it } from "vitest";
import { COMMANDS } from "./commands.ts";

it("allows agents' tools only commands that reveal no data and change nothing", () => {
  const names = COMMANDS.filter(({ isForAgents }) => isForAgents).map(({ name }) => name);
  expect(names).toEqual(["gateway status", "key"]);
});
