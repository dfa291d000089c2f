import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PostriderError } from "./errors.ts";
import { computeResetInstants, nextReset } from "./reset-instants.ts";
import {
  DEFAULT_RESET_POLICY,
  NO_RESET,
  type ResetPolicy,
  resetPolicyFromJson,
  resetPolicyToJson,
  resetReason,
  resetSettingsFromJson,
  resolveResetPolicy,
} from "./reset-policy.ts";

const MINUTE = 60_000;
const NOON = Date.parse("2026-07-01T12:00:00Z");

const policy = (change: Partial<ResetPolicy>): ResetPolicy => ({ ...DEFAULT_RESET_POLICY, ...change });
const reasonAfter = (minutes: number, change: Partial<ResetPolicy>, now = NOON) =>
  resetReason(now - minutes * MINUTE, computeResetInstants(policy(change), now, "UTC"));

describe("the reset of a conversation", () => {
  it("does not happen after a minute in any mode", () => {
    for (const mode of ["idle", "daily", "both", "none"] as const) {
      expect(reasonAfter(1, { mode, idleMinutes: 60 })).toBeUndefined();
    }
  });

  it("happens after more than the idle time", () => {
    expect(reasonAfter(60, { mode: "idle", idleMinutes: 30 })).toBe("idle");
    expect(reasonAfter(120, { mode: "idle", idleMinutes: 60 })).toBe("idle");
    expect(reasonAfter(10, { mode: "idle", idleMinutes: 60 })).toBeUndefined();
  });

  it("does not happen after exactly the idle time", () => {
    const instants = computeResetInstants(policy({ mode: "idle", idleMinutes: 30 }), NOON, "UTC");
    expect(resetReason(NOON - 30 * MINUTE, instants)).toBeUndefined();
    expect(resetReason(NOON - 30 * MINUTE - 1, instants)).toBe("idle");
  });

  it("happens if the daily hour has passed since the last activity", () => {
    expect(reasonAfter(24 * 60, { mode: "daily", atHour: 12 })).toBe("daily");
    expect(reasonAfter(2 * 24 * 60, { mode: "daily" })).toBe("daily");
    expect(reasonAfter(8 * 60 + 1, { mode: "daily", atHour: 4 })).toBe("daily");
  });

  it("does not happen for activity exactly at the daily hour", () => {
    expect(reasonAfter(8 * 60, { mode: "daily", atHour: 4 })).toBeUndefined();
  });

  it("has the reason idle if both apply", () => {
    expect(reasonAfter(3 * 24 * 60, { mode: "both" })).toBe("idle");
    expect(reasonAfter(9 * 60, { mode: "both" })).toBe("daily");
  });

  it("never happens in mode none", () => {
    expect(reasonAfter(30 * 24 * 60, { mode: "none" })).toBeUndefined();
    expect(computeResetInstants(NO_RESET, NOON, "UTC")).toEqual({});
  });

  it("uses the hour of the given zone, not of the machine", () => {
    const daily = policy({ mode: "daily", atHour: 4 });
    expect(computeResetInstants(daily, NOON, "Asia/Kolkata")).toEqual({
      dailyBefore: Date.parse("2026-06-30T22:30:00Z"),
    });
    expect(computeResetInstants(daily, NOON, "America/New_York")).toEqual({
      dailyBefore: Date.parse("2026-07-01T08:00:00Z"),
    });
  });

  it("measures the idle time correctly while clocks are set back", () => {
    const instants = computeResetInstants(
      policy({ mode: "idle", idleMinutes: 60 }),
      Date.parse("2026-11-01T06:30:00Z"),
      "America/New_York",
    );
    expect(instants).toEqual({ idleBefore: Date.parse("2026-11-01T05:30:00Z") });
  });
});

describe("the time of the next reset", () => {
  it("is the daily boundary or the end of the idle time, whichever comes first", () => {
    expect(nextReset(NOON, DEFAULT_RESET_POLICY, "UTC")).toEqual({
      at: Date.parse("2026-07-02T04:00:00Z"),
      reason: "daily",
    });
    expect(nextReset(NOON, policy({ idleMinutes: 30 }), "UTC")).toEqual({
      at: NOON + 30 * MINUTE + 1,
      reason: "idle",
    });
  });

  it("is absent if there is none", () => {
    expect(nextReset(NOON, NO_RESET, "UTC")).toBeUndefined();
    expect(
      nextReset(NOON, policy({ mode: "idle", idleMinutes: Number.MAX_SAFE_INTEGER }), "UTC"),
    ).toBeUndefined();
  });

  it("is exact to the millisecond, with the same reason", () => {
    fc.assert(
      fc.property(somePolicy, someInstant, someZone, (some, activeAt, zone) => {
        const next = nextReset(activeAt, some, zone);
        expect(next === undefined).toBe(some.mode === "none");
        if (next === undefined) return;
        expect(resetReason(activeAt, computeResetInstants(some, next.at, zone))).toBe(next.reason);
        expect(resetReason(activeAt, computeResetInstants(some, next.at - 1, zone))).toBeUndefined();
      }),
    );
  });

  it("stays due", () => {
    fc.assert(
      fc.property(somePolicy, someInstant, someZone, fc.nat(10 ** 10), (some, activeAt, zone, later) => {
        const next = nextReset(activeAt, some, zone);
        if (next === undefined) return;
        expect(resetReason(activeAt, computeResetInstants(some, next.at + later, zone))).toBeDefined();
      }),
    );
  });
});

describe("a reset policy in the configuration", () => {
  it("uses defaults for missing and null values", () => {
    expect(resetPolicyFromJson({}, "p")).toEqual(DEFAULT_RESET_POLICY);
    expect(resetPolicyFromJson(undefined, "p")).toEqual(DEFAULT_RESET_POLICY);
    expect(resetPolicyFromJson(null, "p")).toEqual(DEFAULT_RESET_POLICY);
    expect(
      resetPolicyFromJson(
        { mode: null, at_hour: null, idle_minutes: null, notify: null, notify_exclude_platforms: null },
        "p",
      ),
    ).toEqual(DEFAULT_RESET_POLICY);
    expect(DEFAULT_RESET_POLICY).toEqual({
      mode: "both",
      atHour: 4,
      idleMinutes: 1440,
      notify: true,
      notifyExcludePlatforms: ["api_server", "webhook"],
    });
  });

  it("reads its own output", () => {
    expect(resetPolicyFromJson({ mode: "idle", at_hour: 6, idle_minutes: 120 }, "p")).toMatchObject({
      mode: "idle",
      atHour: 6,
      idleMinutes: 120,
    });
    fc.assert(
      fc.property(somePolicy, (some) => {
        const json: unknown = JSON.parse(JSON.stringify(resetPolicyToJson(some)));
        expect(resetPolicyFromJson(json, "p")).toEqual(some);
      }),
    );
  });

  it.each<[json: unknown, path: string, says: string]>([
    [{ mode: "weekly" }, "mode", "idle, daily, both, none"],
    [{ mode: 7 }, "mode", "idle, daily, both, none"],
    [{ at_hour: 24 }, "at_hour", "from 0 to 23"],
    [{ at_hour: -1 }, "at_hour", "from 0 to 23"],
    [{ at_hour: "4" }, "at_hour", "from 0 to 23"],
    [{ at_hour: 4.5 }, "at_hour", "from 0 to 23"],
    [{ at_hour: Number.NaN }, "at_hour", "not NaN"],
    [{ idle_minutes: 0 }, "idle_minutes", "at least 1"],
    [{ idle_minutes: -5 }, "idle_minutes", "at least 1"],
    [{ idle_minutes: 1.5 }, "idle_minutes", "at least 1"],
    [{ idle_minutes: Number.POSITIVE_INFINITY }, "idle_minutes", "not Infinity"],
    [{ notify: "yes" }, "notify", "true or false"],
    [{ notify_exclude_platforms: "webhook" }, "notify_exclude_platforms", "list of platform names"],
    [{ notify_exclude_platforms: [1] }, "notify_exclude_platforms", "list of platform names"],
    [{ notify_exclude_platforms: ["Webhook"] }, "notify_exclude_platforms", '"webhook"'],
    [{ atHour: 4 }, "atHour", "did you mean at_hour?"],
    [{ idle: 4 }, "idle", "did you mean idle_minutes?"],
    [{ weekday: 1 }, "weekday", "valid are mode, at_hour, idle_minutes, notify, notify_exclude_platforms"],
    [{ "": 1 }, "", "is not a setting; valid are"],
  ])("is refused with the path of the key and the valid values: %j", (json, key, says) => {
    for (const [read, path] of [
      [(value: unknown) => resetPolicyFromJson(value, "some.path"), "some.path"],
      [(value: unknown) => resetSettingsFromJson(value), "session_reset"],
      [
        (value: unknown) => resetSettingsFromJson({ by_platform: { telegram: value } }),
        "session_reset.by_platform.telegram",
      ],
      [(value: unknown) => resetSettingsFromJson({ by_type: { dm: value } }), "session_reset.by_type.dm"],
    ] as const) {
      const error = catchError(() => read(json));
      expect(error.message).toContain(`${path}.${key} `);
      expect(error.message).toContain(says);
      expect(error.details).toEqual({ path: `${path}.${key}` });
    }
  });

  it.each<[json: unknown, path: string]>([
    ["both", "session_reset"],
    [[], "session_reset"],
    [{ by_type: [] }, "session_reset.by_type"],
    [{ by_platform: "telegram" }, "session_reset.by_platform"],
    [{ by_platform: { telegram: "none" } }, "session_reset.by_platform.telegram"],
    [{ by_platform: { Telegram: { mode: "none" } } }, "session_reset.by_platform.Telegram"],
    [{ by_platform: { "": {} } }, "session_reset.by_platform."],
    [{ by_type: { dm: { by_type: {} } } }, "session_reset.by_type.dm.by_type"],
  ])("is refused with a wrong structure: %j", (json, path) => {
    expect(catchError(() => resetSettingsFromJson(json)).details).toEqual({ path });
  });

  it("fails only with a path, for any content", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        try {
          resetSettingsFromJson(json);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_config", details: { path: expect.any(String) } });
        }
      }),
    );
  });
});

describe("the policy of a chat", () => {
  const settings = resetSettingsFromJson({
    mode: "daily",
    idle_minutes: 5,
    by_type: { group: { mode: "idle" }, thread: null },
    by_platform: { telegram: { mode: "none" } },
  });

  it("is that of the platform, else of the chat type, else the default", () => {
    expect(resolveResetPolicy(settings, "telegram", "group").mode).toBe("none");
    expect(resolveResetPolicy(settings, "discord", "group").mode).toBe("idle");
    expect(resolveResetPolicy(settings, "discord", "dm").mode).toBe("daily");
  });

  it("is not merged: missing fields have the built-in default, not the value of another policy", () => {
    expect(resolveResetPolicy(settings, "discord", "group").idleMinutes).toBe(1440);
  });

  it("is none in an editor, regardless of the configuration", () => {
    const byPlatform = { acp: DEFAULT_RESET_POLICY };
    expect(resolveResetPolicy({ ...settings, byPlatform }, "acp", "dm").mode).toBe("none");
  });

  it("is the default for an empty policy", () => {
    expect(resolveResetPolicy(settings, "discord", "thread")).toBe(settings.default);
  });

  it("is never a built-in property of objects", () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      expect(resolveResetPolicy(settings, name, name)).toBe(settings.default);
    }
    const odd = resetSettingsFromJson(JSON.parse('{"by_type":{"__proto__":{"mode":"none"}}}'));
    expect(resolveResetPolicy(odd, "discord", "__proto__").mode).toBe("none");
    expect(resolveResetPolicy(odd, "discord", "dm").mode).toBe("both");
  });
});

const somePolicy: fc.Arbitrary<ResetPolicy> = fc.record({
  mode: fc.constantFrom("idle", "daily", "both", "none"),
  atHour: fc.integer({ min: 0, max: 23 }),
  idleMinutes: fc.integer({ min: 1, max: 100_000 }),
  notify: fc.boolean(),
  notifyExcludePlatforms: fc.array(fc.constantFrom("api_server", "webhook", "sms")),
});
const someInstant = fc.integer({
  min: Date.parse("2005-01-01T00:00:00Z"),
  max: Date.parse("2036-01-01T00:00:00Z"),
});
const someZone = fc.constantFrom(
  "UTC",
  "America/New_York",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Cairo",
);

function catchError(act: () => unknown): PostriderError {
  try {
    act();
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    expect(error.code).toBe("invalid_config");
    return error;
  }
  throw new Error("nothing was refused");
}
