import { PostriderError } from "../core/errors.ts";
import { isModelName } from "../core/model-name.ts";
import { unrefused } from "../core/refusal.ts";
import { type ChatCommand, escaped, madeHere, type Place } from "./command.ts";

export const model: ChatCommand = {
  name: "model",
  takes: "[NAME | PROVIDER:NAME | default]",
  summary: "show or choose the model that answers in this chat",
  async run(place, args) {
    const chosen = (await place.talk.look())?.conversation.settings.model;
    if (args === "") return { text: shown(place, chosen) };
    if (args.toLowerCase() === "default") {
      if (chosen === undefined) return { text: shown(place, chosen) };
      await choose(place, null);
      return { text: `**${escaped(place.agent.name)}** answers in this chat again.` };
    }
    if (place.agent.windowOf === undefined)
      throw new PostriderError(
        "not_allowed",
        `${place.agent.name} answers here, and has no models to choose from.`,
      );
    if (!isModelName(args))
      throw new PostriderError(
        "invalid_input",
        "Write the model as its provider calls it, in one word, or /model default.",
      );
    await choose(place, args);
    return {
      text: `From the next message on, **${escaped(args)}** answers in this chat, and in this chat only. \`/model default\` goes back.`,
    };
  },
};

async function choose(place: Place, name: string | null): Promise<void> {
  const { conversation } = await madeHere(place);
  const { store, who } = place;
  const change = { model: name };
  unrefused(await store.choose({ asker: who, conversation: conversation.number, change, now: place.now() }));
}

function shown({ agent }: Place, chosen: string | undefined): string {
  if (chosen === undefined) return `**${escaped(agent.name)}** answers here, as configured.`;
  return `**${escaped(chosen)}** answers in this chat, chosen instead of ${escaped(agent.name)}. \`/model default\` goes back.`;
}
