/** Waits in a test until a condition is true. */
export interface Listeners {
  tell(): void;
  /** Checks the condition now and after each event. */
  until<Found>(look: () => Found | undefined): Promise<Found>;
}

export function listeners(): Listeners {
  const waiting = new Set<() => void>();
  return {
    tell: () => {
      for (const look of [...waiting]) look();
    },
    until: (look) =>
      new Promise((resolve) => {
        const again = (): void => {
          const found = look();
          if (found === undefined) return;
          waiting.delete(again);
          resolve(found);
        };
        waiting.add(again);
        again();
      }),
  };
}
