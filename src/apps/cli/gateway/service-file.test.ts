import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testHome } from "../../../../test/support/command.ts";
import { buildServiceFile } from "./service-file.ts";

describe("the service", () => {
  it("is a systemd unit that starts this program with this home, and restarts it after a crash", () => {
    const { file, text, enable } = buildServiceFile({
      platform: "linux",
      environment: { XDG_CONFIG_HOME: "/c" },
      home: '/home/a b/%u "x" $HOME',
      system: false,
    });
    expect(file).toBe("/c/systemd/user/postrider-gateway.service");
    const [, line = ""] = /^ExecStart=(.+)$/m.exec(text) ?? [];
    expect(line).toMatch(/^"\/.*node[^"]*" "\/.*bin\/postrider\.mjs" "gateway" "run"$/);
    expect(text).toContain('Environment="POSTRIDER_HOME=/home/a b/%%u \\"x\\" $HOME"\n');
    expect(text).toContain("Restart=on-failure\n");
    expect(text).toContain("TimeoutStopSec=60\n");
    expect(text).toContain("UMask=0077\n");
    // Otherwise a restart would also kill the keeper and all its processes.
    expect(text).toContain("KillMode=process\n");
    expect(text).not.toContain("User=");
    expect(enable.map((command) => command.join(" "))).toEqual([
      "systemctl --user daemon-reload",
      "systemctl --user enable --now postrider-gateway.service",
      expect.stringMatching(/^loginctl enable-linger \S+$/),
    ]);
  });

  it("is a system-wide unit that runs as the installing user", () => {
    const { file, text } = buildServiceFile({ platform: "linux", environment: {}, home: "/h", system: true });
    expect(file).toBe("/etc/systemd/system/postrider-gateway.service");
    expect(text).toMatch(/^User=\S+$/m);
    expect(text).toContain("WantedBy=multi-user.target");
  });

  it("is a launchd property list", () => {
    const { file, text, enable } = buildServiceFile({
      platform: "darwin",
      environment: {},
      home: "/Users/a & <b>",
      system: false,
    });
    expect(file).toMatch(/Library\/LaunchAgents\/dev\.postrider\.gateway\.plist$/);
    expect(text).toContain("<string>/Users/a &amp; &lt;b&gt;</string>");
    expect(text).toMatch(/<key>SuccessfulExit<\/key>\s*<false\/>/);
    expect(text.match(/<key>AbandonProcessGroup<\/key>\s*<true\/>/g)).toHaveLength(1);
    expect(enable[0]?.join(" ")).toMatch(/^launchctl bootstrap gui\/\d+ \/.*plist$/);
  });

  it("refuses a path with a line break", () => {
    expect(() =>
      buildServiceFile({ platform: "linux", environment: {}, home: "/h\nExecStart=/bad", system: false }),
    ).toThrow(/line break/);
  });

  it.runIf(process.platform === "linux")("is printed, installed and removed, but not started", async () => {
    const home = testHome();
    const config = join(home.folder, "..", "config");
    mkdirSync(config);
    const environment = { XDG_CONFIG_HOME: config };
    const file = join(config, "systemd", "user", "postrider-gateway.service");
    const printed = await home.run(["gateway", "install", "--print"], { environment });
    expect(printed).toMatchObject({ code: 0, out: expect.stringMatching(/^\[Unit\]/) });
    const installed = await home.run(["gateway", "install"], { environment });
    expect(installed).toMatchObject({ code: 0, out: `${file} is written.\n` });
    expect(installed.err).toContain("systemctl --user enable --now postrider-gateway.service");
    expect(readFileSync(file, "utf8")).toBe(printed.out);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    const removed = await home.run(["gateway", "uninstall"], { environment });
    expect(removed).toMatchObject({ code: 0, out: `${file} is removed.\n` });
    expect((await home.run(["gateway", "uninstall"], { environment })).out).toBe(`${file} does not exist.\n`);
  });
});
