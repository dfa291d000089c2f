import { spawn } from "node:child_process";
import type { Io } from "./io.ts";

/** Shows a long text a screen at a time where there is a screen; elsewhere, or without a pager, just writes it. */
export async function showInPager(io: Io, text: string, wanted: boolean): Promise<void> {
  const { PAGER, LESS, TERM } = io.environment;
  const screen = (io.output as { readonly fd?: unknown }).fd;
  const isScreen = io.output.isTTY === true && typeof screen === "number" && TERM !== "dumb";
  if (!wanted || !isScreen || PAGER === "" || PAGER === "cat" || !(await paged())) io.output.write(text);

  function paged(): Promise<boolean> {
    // F: what fits on the screen is only printed. R: colours. X: it stays on the screen afterwards.
    const settings = { env: { ...io.environment, LESS: LESS ?? "FRX" }, shell: PAGER !== undefined };
    const pager = spawn(PAGER ?? "less", PAGER === undefined ? ["-R"] : [], {
      ...settings,
      stdio: ["pipe", screen as number, "inherit"],
    });
    // Ctrl-C is the pager's while it runs.
    const ignore = (): void => {};
    process.on("SIGINT", ignore);
    return new Promise((resolve) => {
      const done = (shown: boolean): void => {
        process.off("SIGINT", ignore);
        resolve(shown);
      };
      pager.on("error", () => done(false));
      // A shell says so when it does not know the command.
      pager.on("close", (code) => done(code !== 127 && code !== 126));
      pager.stdin?.on("error", () => {}); // whoever has seen enough leaves before the end
      pager.stdin?.end(text);
    });
  }
}
