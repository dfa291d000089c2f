/** Talks to Postrider in a real terminal and draws what is then on the screen: docs/terminal.svg. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawn } from "@lydell/node-pty";
import headless, { type IBufferCell } from "@xterm/headless";

const COLUMNS = 92;
const ROWS = 46;
const COLORS = ["#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"];
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "postrider-record-"));
const display = new headless.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });

try {
  const script = join(root, "examples/post-rider.script.json");
  await session(["-q", "What did riders do when the road was flooded?"], []);
  display.reset();
  await session(
    [],
    [
      ["What is a post rider?", "· 2 messages ·"],
      ["How fast were they, and how do I say so in TypeScript?", "· 4 messages ·"],
      ["/title post riders", "is called"],
      ["/search flooded", "type to filter"],
    ],
  );
  writeFileSync(join(root, "docs/terminal.svg"), svg());
  console.log("docs/terminal.svg");

  async function session(
    args: readonly string[],
    lines: readonly (readonly [string, string])[],
  ): Promise<void> {
    const child = spawn(process.execPath, [join(root, "bin/postrider.mjs"), ...args], {
      name: "xterm-256color",
      cols: COLUMNS,
      rows: ROWS,
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? "",
        TERM: "xterm-256color",
        POSTRIDER_HOME: join(folder, "home"),
        POSTRIDER_AGENT: `script:${script}`,
      },
    });
    let changed = (): void => {};
    let isOver = false;
    child.onData((data) => display.write(data, () => changed()));
    const ended = new Promise<void>((resolve) => child.onExit(() => resolve()));
    void ended.then(() => {
      isOver = true;
      changed();
    });
    display.onData((reply) => !isOver && child.write(reply));
    const until = async (wanted: string): Promise<void> => {
      while (!text().includes(wanted)) {
        if (isOver) throw new Error(`it ended without "${wanted}":\n${text()}`);
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    };
    if (lines.length === 0) return ended;
    await until("· 0 messages ·");
    for (const [line, wanted] of lines) {
      child.write(line);
      await until(line);
      child.write("\r");
      await until(wanted);
    }
    child.kill("SIGKILL");
    await ended;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function lineAt(row: number) {
  return display.buffer.active.getLine(display.buffer.active.baseY + row);
}

function text(): string {
  return Array.from({ length: ROWS }, (_, row) => lineAt(row)?.translateToString(true) ?? "").join("\n");
}

function svg(): string {
  const [width, height, left, top] = [8.4, 18, 14, 40];
  const rows = text().trimEnd().split("\n").length;
  const [w, h] = [Math.ceil(COLUMNS * width + 2 * left), rows * height + top + 14];
  const lines = Array.from({ length: rows }, (_, row) => {
    const y = top + row * height + 13;
    return spansOf(row)
      .map(({ column, value, cells, style }) => {
        const x = (left + column * width).toFixed(1);
        return `<text x="${x}" y="${y}" textLength="${(cells * width).toFixed(1)}"${style}>${escaped(value)}</text>`;
      })
      .join("");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" aria-label="Postrider in a terminal">
<rect width="${w}" height="${h}" rx="8" fill="#16181d"/>
<circle cx="20" cy="18" r="5" fill="#ff5f57"/><circle cx="38" cy="18" r="5" fill="#febc2e"/><circle cx="56" cy="18" r="5" fill="#28c840"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#d7dae0" xml:space="preserve">
${lines.filter(Boolean).join("\n")}
</g>
</svg>
`;
}

interface Span {
  readonly column: number;
  readonly value: string;
  readonly cells: number;
  readonly style: string;
}

/** Runs of cells that look the same. */
function spansOf(row: number): Span[] {
  const spans: { column: number; value: string; cells: number; style: string }[] = [];
  const line = lineAt(row);
  for (let column = 0; column < COLUMNS; column += 1) {
    const cell = line?.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const style = styleOf(cell);
    const value = cell.getChars() || " ";
    const last = spans.at(-1);
    if (last?.style === style) {
      last.value += value;
      last.cells += cell.getWidth();
    } else spans.push({ column, value, cells: cell.getWidth(), style });
  }
  return spans.filter(({ value }) => value.trim() !== "");
}

function styleOf(cell: IBufferCell): string {
  const color = cell.isFgPalette() ? (COLORS[cell.getFgColor()] ?? "#7f848e") : undefined;
  return [
    color === undefined ? "" : ` fill="${color}"`,
    cell.isBold() ? ' font-weight="bold"' : "",
    cell.isDim() ? ' opacity="0.6"' : "",
    cell.isItalic() ? ' font-style="italic"' : "",
    cell.isUnderline() ? ' text-decoration="underline"' : "",
  ].join("");
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
