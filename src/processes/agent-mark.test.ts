import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { AGENT_MARK, isRunByAgent, SET_LIMIT_MARK } from "./agent-mark.ts";

const MODULE = new URL("./agent-mark.ts", import.meta.url).href;
const LOOK = `import("${MODULE}").then(({ isRunByAgent }) => console.log(isRunByAgent(process.env)))`;
const PLAIN = `env -i ${process.execPath} -e '${LOOK}'`;

/** The output of a process that a shell starts with this script. */
function runScript(script: string, environment: Record<string, string> = {}, shell = "/bin/sh"): string {
  const { stdout, stderr } = spawnSync(shell, ["-c", script], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"], // with a socket for its input, bash reads a profile
  });
  return `${stdout}${stderr}`.trim();
}

describe("isRunByAgent", () => {
  it("recognizes a process by its environment", () => {
    expect(isRunByAgent({ [AGENT_MARK]: "1" })).toBe(true);
    expect(isRunByAgent({ [AGENT_MARK]: "" })).toBe(true);
    expect(isRunByAgent({})).toBe(false);
  });

  it("recognizes a process by the initial environment of an ancestor", () => {
    expect(runScript(`${PLAIN}; true`, { [AGENT_MARK]: "1" })).toBe("true");
    expect(runScript(`${PLAIN}; true`, { [`NOT_${AGENT_MARK}`]: "1" })).toBe("false");
  });

  it.each(["/bin/sh", "bash"])(
    "recognizes a process by a limit that %s sets and no descendant can raise",
    (shell) => {
      expect(runScript(`${SET_LIMIT_MARK}; ${PLAIN}`, {}, shell)).toBe("true");
      const lower = "{ ulimit -x 5 || ulimit -w 5; } 2>/dev/null";
      expect(runScript(`${SET_LIMIT_MARK}; ${lower}; ${PLAIN}`, {}, shell)).toBe("true");
      expect(runScript(`true; ${PLAIN}`, {}, shell)).toBe("false");
    },
  );
});
