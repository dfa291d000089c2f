/** What an editor was told last, by what it is about. */
export interface Known {
  /** Whether this is something else; from now on it is known. */
  isNews(about: string, value: unknown): boolean;
}

export function known(): Known {
  const told = new Map<string, string>();
  return {
    isNews(about, value) {
      const text = JSON.stringify(value);
      if (told.get(about) === text) return false;
      told.set(about, text);
      return true;
    },
  };
}
