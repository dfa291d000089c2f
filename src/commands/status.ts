import type { ConversationSettings } from "../core/conversation.ts";
import { originWords } from "../core/home-channel.ts";
import { textOf } from "../core/message.ts";
import { platformTraits } from "../core/platforms.ts";
import { plural } from "../core/plural.ts";
import type { Surroundings } from "../core/surroundings.ts";
import { clockTime } from "../core/transcript.ts";
import { BUSY_WORDS } from "./busy.ts";
import {
  type ChatCommand,
  countMessages,
  escaped,
  here,
  homesFor,
  isEditor,
  isTerminal,
  nameOf,
  type Place,
  shortened,
} from "./command.ts";
import { runningHere, runningWords } from "./processes.ts";
import { distance } from "./when.ts";

export const status: ChatCommand = {
  name: "status",
  summary: "this session at a glance; changes nothing",
  looks: true,
  async run(place) {
    const { conversation, session } = await here(place);
    const ask = { asker: place.who, session: session.id };
    const [waiting, around] = [await place.store.waiting(ask), await place.store.surroundings(ask)];
    const running = await runningHere(place, conversation.number);
    const when = (at: number): string => `${clockTime(at, place.zone)} (${distance(at, place.now())})`;
    const lines = [
      `- session ${nameOf(session)}, ${session.id}`,
      `- begun ${when(session.createdAt)}, last spoken ${when(session.lastAt)}`,
      `- ${await countMessages(place, session)}, ${plural(session.usage.totalTokens, "token")}`,
      `- agent ${escaped(place.agent.name)}, ${place.talk.isAnswering(session.id) ? "answering" : "idle"}`,
      ...chosenLines(place, conversation.settings),
      ...(await homeLines(place)),
      ...undelivered(around),
      ...(running === 0 ? [] : [`- ${runningWords(running)} here; /processes lists what runs`]),
      ...waiting.map((message) => `- waiting: “${escaped(shortened(textOf(message), 60))}”`),
    ];
    return { text: lines.join("\n") };
  },
};

function chosenLines(place: Place, settings: ConversationSettings): string[] {
  const { busy, model, personality } = settings;
  const mode = busy ?? place.busy;
  return [
    ...(model === undefined ? [] : [`- model ${escaped(model)}, chosen for this chat`]),
    ...(personality === undefined ? [] : [`- personality ${escaped(personality)}, chosen for this chat`]),
    ...(isTerminal(place) || isEditor(place)
      ? []
      : [
          `- while it answers: ${mode}${busy === undefined ? "" : ", chosen for this chat"} (${BUSY_WORDS[mode]})`,
        ]),
  ];
}

/** For the owner, in a messenger. */
async function homeLines(place: Place): Promise<string[]> {
  const { platform, chatId } = place.source;
  const homes = (await homesFor(place)).filter((home) => home.platform === platform);
  return homes.map((home) => {
    const which = home.chatId === chatId ? "this chat" : `${escaped(home.name)} (\`${home.chatId}\`)`;
    return `- home channel of ${platformTraits(platform).label}: ${which}, ${originWords(home)}`;
  });
}

/** Among the newest. What is too old to be counted has been said at its time. */
function undelivered(around: Surroundings | undefined): string[] {
  const dead = (around?.deliveries ?? []).flatMap(({ status }) => (status.state === "dead" ? [status] : []));
  const [newest] = dead;
  if (newest === undefined) return [];
  return [
    `- ${plural(dead.length, "message")} could not be delivered: ${escaped(shortened(newest.lastError, 100))}`,
  ];
}
