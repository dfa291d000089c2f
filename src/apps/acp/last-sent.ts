/** What an editor was told last, by what it is about. */
export interface LastSent {
  /** Whether this is something else; from now on it is known. */
  recordIfChanged(about: string, value: unknown): boolean;
}

export function lastSent(): LastSent {
  const told = new Map<string, string>();
  return {
    recordIfChanged(about, value) {
      const text = JSON.stringify(value);
      if (told.get(about) === text) return false;
      told.set(about, text);
      return true;
    },
  };
}
