import { PostriderError } from "../../core/errors.ts";
import { buildIdentity, scopeFor } from "../../core/identity.ts";
import { sessionKey } from "../../core/key.ts";
import { toOneLine } from "../../core/printable.ts";
import { sourceFromJson } from "../../core/source.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { loadLocalConfig } from "./config/local-config.ts";
import { getOutputWidth, type Io, printJson, printLine } from "./io.ts";
import { formatIdentityJson, formatKeyParts, listKeyParts } from "./key-parts.ts";
import { readLines } from "./read-lines.ts";
import { createStyle } from "./style.ts";
import { formatTable } from "./table.ts";

export const showKeyCommand: Command = defineCommand({
  name: "key",
  takes: "SOURCE",
  words: [1, 1],
  about: `Shows the key of the conversation for messages from this source. SOURCE is JSON with platform and chat_id, and
optionally chat_type (default dm), thread_id, user_id and user_id_alt. SOURCE - reads it from stdin.`,
  options: {
    "groups-shared": { type: "flag", help: "everyone in a group shares one conversation" },
    "threads-shared": { type: "flag", help: "everyone in a thread shares one conversation" },
    profile: {
      type: "text",
      value: "NAME",
      help: "the profile of the agent (default: main, or as configured)",
    },
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
    const source = sourceFromJson(await readSource(io, given));
    const settings = (await loadLocalConfig(io))?.gateway;
    const scope = {
      ...scopeFor(settings?.scope ?? {}, source.platform),
      ...(values["groups-shared"] && { groupsPerUser: false }),
      ...(values["threads-shared"] && { threadsPerUser: false }),
    };
    const identity = buildIdentity(source, scope, values.profile ?? settings?.profile);
    if (values.json)
      return printJson(io, { key: sessionKey(identity), identity: formatIdentityJson(identity) });
    const columns = [{ heading: "PART" }, { heading: "VALUE", least: 8 }, { heading: "WHY", least: 12 }];
    const rows = formatKeyParts(listKeyParts(identity, scope)).map((row) => row.map(toOneLine));
    printLine(io, toOneLine(sessionKey(identity)));
    printLine(io, `\n${formatTable(columns, rows, getOutputWidth(io), createStyle(io).dim).join("\n")}`);
  },
});

async function readSource(io: Io, given: string): Promise<unknown> {
  const lines: string[] = [];
  if (given === "-") for await (const line of readLines(io.input)) lines.push(line);
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
