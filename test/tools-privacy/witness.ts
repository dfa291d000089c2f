import { listeners } from "../support/listeners.ts";

/** A chat, or a topic of one. In a group each has a conversation of their own; a topic is one for all who speak there. */
export interface Spot {
  readonly chat: string;
  readonly type: "dm" | "group";
  readonly thread?: string;
}

/** Who reads, and where. */
export interface Reader {
  readonly person: string;
  readonly spot: Spot;
}

/** Where a mark comes from. What is done in the background is its person's own, also where a topic is shared. */
export interface Origin extends Reader {
  readonly background: boolean;
}

/** A message of the bot, with all that can be read and pressed in it. */
export interface Shown extends Reader {
  readonly words: string;
  readonly approve?: number;
  readonly replyTo?: string;
}

/** Something that the agent of a turn was told: what is said to it, and what its tools give back. */
export interface Told {
  /** The mark of what it answers. */
  readonly mark: string;
  readonly what: string;
  readonly words: string;
}

/** A process that an agent has started, as every other agent could have guessed it. */
export interface Begun {
  readonly id: string;
  readonly mark: string;
  readonly conversation: string;
  readonly ends: boolean;
}

/** All that happened, as seen from outside. Every text of a person holds a mark of its own: `zannx3`. */
export interface Witness {
  readonly origins: ReadonlyMap<string, Origin>;
  readonly shown: readonly Shown[];
  readonly told: readonly Told[];
  readonly begun: readonly Begun[];
  /** What was not as it should be, a sentence each. */
  readonly wrong: readonly string[];
  /** The tools that the turn of a mark was offered. */
  readonly offered: ReadonlyMap<string, readonly string[]>;
  mark(origin: Origin): string;
  show(shown: Shown): void;
  tell(told: Told): void;
  begin(begun: Begun): void;
  blame(sentence: string): void;
  offer(mark: string, tools: readonly string[]): void;
  /** Rejects, with what was waited for, when it does not come. */
  until<Found>(what: string, find: () => Found | undefined): Promise<Found>;
}

const PATIENCE_MS = 45_000;

export function witness(): Witness {
  const origins = new Map<string, Origin>();
  const [shown, told, begun, wrong]: [Shown[], Told[], Begun[], string[]] = [[], [], [], []];
  const offered = new Map<string, readonly string[]>();
  const changes = listeners();
  const add = <One>(list: One[], one: One): void => {
    list.push(one);
    changes.tell();
  };
  return {
    origins,
    shown,
    told,
    begun,
    wrong,
    offered,
    mark(origin) {
      const mark = `z${origin.person}x${origins.size + 1}`;
      origins.set(mark, origin);
      return mark;
    },
    show: (one) => add(shown, one),
    tell: (one) => add(told, one),
    begin: (one) => add(begun, one),
    blame: (sentence) => add(wrong, sentence),
    offer(mark, tools) {
      offered.set(mark, tools);
      changes.tell();
    },
    until(what, find) {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error(`waited in vain for ${what}`)), PATIENCE_MS);
      return Promise.race([changes.until(find), late.promise]).finally(() => clearTimeout(timer));
    },
  };
}

/** A word by itself, which no Markdown changes. */
export function marksIn(words: string): readonly string[] {
  return [...new Set(words.match(/\bz[a-z]+x\d+\b/g))];
}

export function isShared({ thread }: Spot): boolean {
  return thread !== undefined;
}

export function nameOf({ person, spot }: Reader): string {
  return isShared(spot) ? `${spot.chat}/${spot.thread}` : `${person} in ${spot.chat}`;
}

/**
 * In a direct chat one may know what is one's own, and not what belongs to all in a topic; in a topic, what was said there;
 * in a group, what one has said there oneself.
 */
export function mayKnow({ person, spot }: Reader, from: Origin): boolean {
  if (spot.type === "dm") return from.person === person && (!isShared(from.spot) || from.background);
  const isHere = from.spot.chat === spot.chat && from.spot.thread === spot.thread;
  return isHere && (isShared(spot) || from.person === person);
}

/** Every mark that got to where it does not belong, a sentence each. */
export function crossedIn({
  origins,
  shown,
  told,
}: Pick<Witness, "origins" | "shown" | "told">): readonly string[] {
  const strangers = (reader: Reader, words: string): readonly string[] =>
    marksIn(words).filter((mark) => {
      const from = origins.get(mark);
      return from === undefined || !mayKnow(reader, from);
    });
  return [
    ...shown.flatMap((one) =>
      strangers(one, one.words).map(
        (mark) => `${mark} was shown to ${nameOf(one)}: ${one.words.slice(0, 200)}`,
      ),
    ),
    ...told.flatMap(({ mark: answered, what, words }) => {
      const reader = origins.get(answered);
      if (reader === undefined) return [`nobody has said ${answered}`];
      return strangers(reader, words).map(
        (mark) => `${mark} was told to the agent of ${nameOf(reader)} by ${what}`,
      );
    }),
  ];
}
