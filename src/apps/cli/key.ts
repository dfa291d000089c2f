import { PostriderError } from "../../core/errors.ts";
import { identityOf, scopeFor } from "../../core/identity.ts";
import { sessionKey } from "../../core/key.ts";
import { onOneLine } from "../../core/printable.ts";
import { sourceFromJson } from "../../core/source.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { configHere } from "./config/here.ts";
import { type Io, say, sayJson, widthOf } from "./io.ts";
import { identityJson, keyPartRows, keyParts } from "./key-parts.ts";
import { linesOf } from "./lines.ts";
import { styleOf } from "./style.ts";
import { table } from "./table.ts";

export const key: Command = defineCommand({
  name: "key",
  takes: "SOURCE",
  words: [1, 1],
  about: `The key of the conversation to which a message from this source belongs. SOURCE is JSON with at least platform
and chat_id; also chat_type (dm), thread_id, user_id, user_id_alt. - reads it from stdin.`,
  options: {
    "groups-shared": { type: "flag", help: "everyone in a group shares one conversation" },
    "threads-shared": { type: "flag", help: "everyone in a thread shares one conversation" },
    profile: { type: "text", value: "NAME", help: "which agent is spoken to (main, unless configured)" },
    json: JSON_OPTION,
  },
  examples: [
    [`postrider key '{"platform":"telegram","chat_id":99}'`, "a direct chat, part by part"],
    [
      `postrider key --json '{"platform":"telegram","chat_type":"group","chat_id":-100,"user_id":42}'`,
      "for a script",
    ],
  ],
  async run({ words: [given = ""], values }, io) {
    const source = sourceFromJson(await read(io, given));
    const settings = (await configHere(io))?.gateway;
    const scope = {
      ...scopeFor(settings?.scope ?? {}, source.platform),
      ...(values["groups-shared"] && { groupsPerUser: false }),
      ...(values["threads-shared"] && { threadsPerUser: false }),
    };
    const identity = identityOf(source, scope, values.profile ?? settings?.profile);
    if (values.json) return sayJson(io, { key: sessionKey(identity), identity: identityJson(identity) });
    const columns = [{ heading: "PART" }, { heading: "VALUE", least: 8 }, { heading: "WHY", least: 12 }];
    const rows = keyPartRows(keyParts(identity, scope)).map((row) => row.map(onOneLine));
    say(io, onOneLine(sessionKey(identity)));
    say(io, `\n${table(columns, rows, widthOf(io), styleOf(io).dim).join("\n")}`);
  },
});

async function read(io: Io, given: string): Promise<unknown> {
  const lines: string[] = [];
  if (given === "-") for await (const line of linesOf(io.input)) lines.push(line);
  try {
    return JSON.parse(given === "-" ? lines.join("\n") : given);
  } catch (cause) {
    throw new PostriderError(
      "invalid_input",
      `SOURCE is not JSON. Write it like '{"platform":"telegram","chat_id":"99"}', in single quotes.`,
      { cause, details: { field: "source" } },
    );
  }
}
