/** The characters that providers use in model names: no spaces and no control characters. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._:/@+-]{0,199}$/u;

export function isModelName(text: string): boolean {
  return NAME.test(text);
}
