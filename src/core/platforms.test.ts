import { describe, expect, it } from "vitest";
import { listKnownPlatforms, platformTraits } from "./platforms.ts";

describe("what is known of a platform", () => {
  it("covers every platform that Postrider speaks", () => {
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

  it("hides ids on request where they lead to phone numbers", () => {
    const redactable = listKnownPlatforms().filter((name) => platformTraits(name).redactable);
    expect([...redactable].sort()).toEqual(["signal", "telegram", "whatsapp"]);
  });

  it("leaves ids where people can be mentioned by nothing else", () => {
    const raw = listKnownPlatforms().filter((name) => platformTraits(name).rawIdsForMentions);
    expect([...raw].sort()).toEqual(["discord", "slack"]);
  });

  it("knows how much fits in one message", () => {
    expect(platformTraits("telegram").messageLimit).toBe(4096);
    expect(platformTraits("discord").messageLimit).toBe(2000);
    expect(platformTraits("sms").messageLimit).toBe(1600);
    for (const name of listKnownPlatforms())
      expect(platformTraits(name).messageLimit).toBeGreaterThanOrEqual(1600);
  });

  it("claims that a repeated send is harmless only where it is", () => {
    const idempotent = listKnownPlatforms().filter((name) => platformTraits(name).outbound === "idempotent");
    expect([...idempotent].sort()).toEqual(["acp", "api_server", "local", "matrix", "web"]);
    expect(platformTraits("telegram")).toMatchObject({ inbound: "redelivers", outbound: "unknowable" });
  });

  it.each(["bluebubbles", "my_own-bot", "constructor"])("promises least and hides most for %s", (name) => {
    expect(platformTraits(name)).toMatchObject({
      redactable: true,
      rawIdsForMentions: false,
      threads: false,
      inbound: "gone",
      outbound: "unknowable",
    });
  });

  it("writes names as people do", () => {
    expect(platformTraits("whatsapp").label).toBe("WhatsApp");
    expect(platformTraits("my_own-bot").label).toBe("My Own Bot");
  });
});
