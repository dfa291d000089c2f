import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import { modelServer, type Reply } from "../../test/support/model-server.ts";
import type { Agent } from "../ports/agent.ts";
import { agentContract } from "../testing/agent-contract.ts";
import { echo } from "./echo.ts";
import { model } from "./model/model.ts";
import { script } from "./script.ts";

describe("echo passes the agent contract", () => {
  agentContract(
    { describe, it },
    {
      answers: async () => ({
        agent: echo,
        said: "hello  you\nthere",
        answer: "You said: hello  you\nthere",
      }),
      endless: async () => ({ agent: echo, said: "on and on ".repeat(100_000) }),
    },
  );
});

describe("a script passes the agent contract", () => {
  const saying = (...say: readonly unknown[]): { agent: Agent; said: string } => ({
    agent: script({ answers: [{ say, usage: { input_tokens: 3, last_prompt_tokens: 3 } }] }),
    said: "go",
  });
  let folder: ReturnType<typeof temporaryFolder> | undefined;
  agentContract(
    { describe, it },
    {
      answers: async () => ({ ...saying("Good ", { think: "hm" }, "morning"), answer: "Good morning" }),
      endless: async () => saying("It began ", { wait_ms: 3_600_000 }, "and ended"),
      fails: async () => saying("Half of ", { fail: "The model is not there." }),
      async acts() {
        folder = temporaryFolder();
        const file = join(folder.path, "mark");
        const mark = { tool: "mark", arguments: { file }, run: ["touch", file] };
        return {
          ...saying("Now: ", mark, { tool: "look", result: "x" }, "done"),
          acted: () => existsSync(file),
        };
      },
      asks: async () => saying({ approve: { title: "Delete it?" } }, "Deleted."),
      uses: async (name, args) => saying("Now: ", { use: name, arguments: args }, "done"),
      async destroy() {
        folder?.remove();
        folder = undefined;
      },
    },
  );
});

describe("a model passes the agent contract", () => {
  const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
  async function serveAgent(...replies: readonly Reply[]): Promise<{ agent: Agent; said: string }> {
    const { url } = await modelServer(...replies);
    return {
      agent: model({ provider: "compatible", model: "tiny", baseUrl: url }, { retries: 0 }),
      said: "go",
    };
  }
  agentContract(
    { describe, it },
    {
      answers: async () => ({
        ...(await serveAgent({ say: ["Good ", "morning"], usage })),
        answer: "Good morning",
      }),
      endless: () => serveAgent({ say: ["It began "], hang: true }),
      fails: () => serveAgent({ status: 500 }),
      uses: (name, args) =>
        serveAgent(
          { say: ["Now: "], calls: [{ id: "c", name, arguments: JSON.stringify(args) }], usage },
          { say: ["done"], usage },
        ),
    },
  );
});
