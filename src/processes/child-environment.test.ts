import { describe, expect, it } from "vitest";
import { buildAgentEnvironment, buildChildEnvironment } from "./child-environment.ts";

describe("the environment of a child process", () => {
  const ours = {
    PATH: "/bin",
    HOME: "/h",
    LC_ALL: "C",
    LC_SECRET: "no",
    AWS_SECRET_ACCESS_KEY: "no",
    POSTRIDER_API_KEY: "no",
    NODE_OPTIONS: "no",
    GITHUB_TOKEN: "t",
    EDITOR: "vi",
  };

  it("contains the variables on the list, and none that may be a secret", () => {
    expect(buildChildEnvironment(ours)).toEqual({
      PATH: "/bin",
      HOME: "/h",
      LC_ALL: "C",
      PYTHONUNBUFFERED: "1",
    });
  });

  it("contains the agent's mark for a process of a tool, whatever is configured", () => {
    const from = { ...ours, POSTRIDER_RUN_BY_AGENT: "" };
    expect(buildAgentEnvironment(from, ["POSTRIDER_RUN_BY_AGENT"])).toMatchObject({
      POSTRIDER_RUN_BY_AGENT: "1",
    });
    expect(buildChildEnvironment(from)).not.toHaveProperty("POSTRIDER_RUN_BY_AGENT");
  });

  it("also contains the variables that are configured by their exact names", () => {
    const environment = buildChildEnvironment(ours, ["GITHUB_TOKEN", "NOT_SET", "editor"]);
    expect(environment).toMatchObject({ GITHUB_TOKEN: "t" });
    expect(Object.keys(environment)).not.toContain("NOT_SET");
    expect(Object.keys(environment)).not.toContain("EDITOR");
  });
});
