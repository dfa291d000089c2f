import { describe, expect, it } from "vitest";
import { buildAgentEnvironment, buildChildEnvironment } from "./child-environment.ts";

describe("what a program sees of our environment", () => {
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

  it("is what is on the list, and nothing that may be a secret", () => {
    expect(buildChildEnvironment(ours)).toEqual({
      PATH: "/bin",
      HOME: "/h",
      LC_ALL: "C",
      PYTHONUNBUFFERED: "1",
    });
  });

  it("is marked in what an agent's tool starts, whatever is configured", () => {
    const from = { ...ours, POSTRIDER_RUN_BY_AGENT: "" };
    expect(buildAgentEnvironment(from, ["POSTRIDER_RUN_BY_AGENT"])).toMatchObject({
      POSTRIDER_RUN_BY_AGENT: "1",
    });
    expect(buildChildEnvironment(from)).not.toHaveProperty("POSTRIDER_RUN_BY_AGENT");
  });

  it("is also what is configured by its exact name", () => {
    const given = buildChildEnvironment(ours, ["GITHUB_TOKEN", "NOT_SET", "editor"]);
    expect(given).toMatchObject({ GITHUB_TOKEN: "t" });
    expect(Object.keys(given)).not.toContain("NOT_SET");
    expect(Object.keys(given)).not.toContain("EDITOR");
  });
});
