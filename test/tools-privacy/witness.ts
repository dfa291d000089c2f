import { listeners } from "../support/listeners.ts";

/** A chat, or a topic of one. In a group each person has a separate conversation; a topic has one shared conversation. */
export interface Spot {
  readonly chat: string;
  readonly type: "dm" | "group";
  readonly thread?: string;
}

/** A reader and their chat. */
export interface Reader {
  readonly person: string;
  readonly spot: Spot;
}

/** The origin of a mark. Background tasks are private to their person, also in a shared topic. */
export interface Origin extends Reader {
  readonly background: boolean;
}

/** A message of the bot, with all its text and buttons. */
export interface Shown extends Reader {
  readonly words: string;
  readonly approve?: number;
  readonly replyTo?: string;
}

/** An input of a turn's agent: a message, or the result of a tool. */
export interface Told {
  /** The mark of the text that it answers. */
  readonly mark: string;
  readonly what: string;
  readonly words: string;
}

/** A process of an agent, with an id that other agents could guess. */
export interface Begun {
  readonly id: string;
  readonly mark: string;
  readonly conversation: string;
  readonly ends: boolean;
}

/** All events, seen from outside. Every text of a person contains a unique mark: `zannx3`. */
export interface Witness {
  readonly origins: ReadonlyMap<string, Origin>;
  readonly shown: readonly Shown[];
  readonly told: readonly Told[];
  readonly begun: readonly Begun[];
  /** Unexpected results, one sentence each. */
  readonly wrong: readonly string[];
  /** The tools that the turn of a mark was offered. */
  readonly offered: ReadonlyMap<string, readonly string[]>;
  mark(origin: Origin): string;
  show(shown: Shown): void;
  tell(told: Told): void;
  begin(begun: Begun): void;
  blame(sentence: string): void;
  offer(mark: string, tools: readonly string[]): void;
  /** Rejects with a description after a time limit. */
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

/** A separate word, which Markdown does not change. */
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
 * In a direct chat a person may see their private marks, but not those of a shared topic; in a topic, the marks of that
 * topic; in a group, their own marks from there.
 */
export function mayKnow({ person, spot }: Reader, from: Origin): boolean {
  if (spot.type === "dm") return from.person === person && (!isShared(from.spot) || from.background);
  const isHere = from.spot.chat === spot.chat && from.spot.thread === spot.thread;
  return isHere && (isShared(spot) || from.person === person);
}

/** Every mark in a chat in which it must not be visible, one sentence each. */
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
