import { hasColor, type Io } from "./io.ts";

/** Text styles; without colours they change nothing. */
export interface Style {
  readonly isOn: boolean;
  bold(text: string): string;
  dim(text: string): string;
}

export function createStyle(io: Io): Style {
  const isOn = hasColor(io);
  const wrap =
    (on: number, off: number) =>
    (text: string): string =>
      isOn && text !== "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  return { isOn, bold: wrap(1, 22), dim: wrap(2, 22) };
}
