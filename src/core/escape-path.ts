/** Escapes invisible characters and line breaks in a path, so that it is shown on one line as it is. */
export function escapePath(path: string): string {
  return path.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
