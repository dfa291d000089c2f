import { hasColor, type Io } from "./io.ts";

/** How words stand out, or not at all where there is no colour. */
export interface Style {
  readonly isOn: boolean;
  bold(text: string): string;
  dim(text: string): string;
}

export function createStyle(io: Io): Style {
  const isOn = hasColor(io);
  const wrapped =
    (on: number, off: number) =>
    (text: string): string =>
      isOn && text !== "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  return { isOn, bold: wrapped(1, 22), dim: wrapped(2, 22) };
}
