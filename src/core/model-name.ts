/** As providers call their models: no spaces, nothing that steers a terminal. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._:/@+-]{0,199}$/u;

export function isModelName(text: string): boolean {
  return NAME.test(text);
}
