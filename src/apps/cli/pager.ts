import { spawn } from "node:child_process";
import type { Io } from "./io.ts";

/** Shows a long text in the pager on a terminal; otherwise, or without a pager, writes it. */
export async function showInPager(io: Io, text: string, wanted: boolean): Promise<void> {
  const { PAGER, LESS, TERM } = io.environment;
  const screen = (io.output as { readonly fd?: unknown }).fd;
  const isScreen = io.output.isTTY === true && typeof screen === "number" && TERM !== "dumb";
  if (!wanted || !isScreen || PAGER === "" || PAGER === "cat" || !(await paged())) io.output.write(text);

  function paged(): Promise<boolean> {
    // F: print a short text directly. R: keep colours. X: keep the text on the screen afterwards.
    const settings = { env: { ...io.environment, LESS: LESS ?? "FRX" }, shell: PAGER !== undefined };
    const pager = spawn(PAGER ?? "less", PAGER === undefined ? ["-R"] : [], {
      ...settings,
      stdio: ["pipe", screen as number, "inherit"],
    });
    // The pager handles Ctrl-C while it runs.
    const ignore = (): void => {};
    process.on("SIGINT", ignore);
    return new Promise((resolve) => {
      const done = (shown: boolean): void => {
        process.off("SIGINT", ignore);
        resolve(shown);
      };
      pager.on("error", () => done(false));
      // The shell's exit codes for a command that it cannot find or run.
      pager.on("close", (code) => done(code !== 127 && code !== 126));
      pager.stdin?.on("error", () => {}); // the person may quit before the end
      pager.stdin?.end(text);
    });
  }
}
