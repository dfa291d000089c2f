import { expect, it } from "vitest";
import { COMMANDS } from "./commands.ts";

it("gives agents' tools no command but those that reveal nobody's data and change nothing", () => {
  const names = COMMANDS.filter(({ isForAgents }) => isForAgents).map(({ name }) => name);
  expect(names).toEqual(["gateway status", "key"]);
});
