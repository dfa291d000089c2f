import { type ChatCommand, escaped } from "./command.ts";
import { type Available, helpText } from "./help.ts";
import { linkByCode } from "./pair.ts";

/** What messengers send when somebody opens the chat for the first time, with the code of a link that led there. */
export function startWith(available: Available): ChatCommand {
  return {
    name: "start",
    takes: "[CODE]",
    summary: "say hello, and what can be done here",
    only: "messenger",
    async run(place, args) {
      if (args !== "") return linkByCode(place, args);
      const { userName } = place.source;
      const hello = userName === undefined ? "Hello." : `Hello, ${escaped(userName)}.`;
      return {
        text: `${hello} Say something, and ${escaped(place.agent.name)} answers.\n\n${helpText(available(place))}`,
      };
    },
  };
}
