import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTestBody, requirePart, skipRule } from "./skip-rule.ts";

describe("a rule that needs a missing optional part", () => {
  const body = createTestBody(
    "keeps buttons",
    async () => void requirePart(undefined, "the platform has no buttons"),
  );

  it("is skipped with the reason by the runner's context, an object or a function", async () => {
    const reasons: string[] = [];
    const skip = (reason: string): void => void reasons.push(reason);
    await body({ skip });
    await body(Object.assign(() => {}, { skip }));
    expect(reasons).toEqual(["the platform has no buttons", "the platform has no buttons"]);
  });

  it("is a warning with the reason if the runner passes no context", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    await body();
    await body(() => {});
    expect(warn.mock.calls).toEqual(
      Array.from({ length: 2 }, () => ["skipped: keeps buttons: the platform has no buttons"]),
    );
  });

  it("declares no parameter, because Jest would then wait for its callback", () => {
    expect(body).toHaveLength(0);
  });
});

it("a rule that fails is not skipped", async () => {
  const skip = (): void => expect.fail("it was skipped");
  const failing = createTestBody("fails", async () => expect(requirePart(1, "not there")).toBe(2));
  await expect(failing({ skip })).rejects.toThrow("to be 2");
  await expect(
    createTestBody("skips", async () => skipRule("why"))({ skip: () => {} }),
  ).resolves.toBeUndefined();
});
