import { describe, expect, it } from "vitest";
import { listKnownPlatforms, platformTraits } from "./platforms.ts";

describe("the traits of a platform", () => {
  it("cover every supported platform", () => {
    expect([...listKnownPlatforms()].sort()).toEqual([
      "acp",
      "api_server",
      "dingtalk",
      "discord",
      "email",
      "homeassistant",
      "local",
      "matrix",
      "mattermost",
      "signal",
      "slack",
      "sms",
      "telegram",
      "web",
      "webhook",
      "whatsapp",
    ]);
  });

  it("hide ids on request if they reveal phone numbers", () => {
    const redactable = listKnownPlatforms().filter((name) => platformTraits(name).redactable);
    expect([...redactable].sort()).toEqual(["signal", "telegram", "whatsapp"]);
  });

  it("keep ids if mentions need them", () => {
    const raw = listKnownPlatforms().filter((name) => platformTraits(name).rawIdsForMentions);
    expect([...raw].sort()).toEqual(["discord", "slack"]);
  });

  it("contain the limit of a message", () => {
    expect(platformTraits("telegram").messageLimit).toBe(4096);
    expect(platformTraits("discord").messageLimit).toBe(2000);
    expect(platformTraits("sms").messageLimit).toBe(1600);
    for (const name of listKnownPlatforms())
      expect(platformTraits(name).messageLimit).toBeGreaterThanOrEqual(1600);
  });

  it("declare idempotent sends only for platforms that have them", () => {
    const idempotent = listKnownPlatforms().filter((name) => platformTraits(name).outbound === "idempotent");
    expect([...idempotent].sort()).toEqual(["acp", "api_server", "local", "matrix", "web"]);
    expect(platformTraits("telegram")).toMatchObject({ inbound: "redelivers", outbound: "unknowable" });
  });

  it.each(["bluebubbles", "my_own-bot", "constructor"])("have the safest values for %s", (name) => {
    expect(platformTraits(name)).toMatchObject({
      redactable: true,
      rawIdsForMentions: false,
      threads: false,
      inbound: "gone",
      outbound: "unknowable",
    });
  });

  it("contain the name for people", () => {
    expect(platformTraits("whatsapp").label).toBe("WhatsApp");
    expect(platformTraits("my_own-bot").label).toBe("My Own Bot");
  });
});
