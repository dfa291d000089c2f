/** Shows a path as it is, but escapes characters that would end its line or hide in it. */
export function escapePath(path: string): string {
  return path.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
