/** Opens a database and prints the error code. */
import { type PostriderError, sqliteStore } from "../../src/index.ts";
import { say } from "../support/child.ts";

const [file = ""] = process.argv.slice(2);
const outcome = await sqliteStore({ file }).then(
  () => ({ code: "opened", message: "" }),
  ({ code, message }: PostriderError) => ({ code, message }),
);
say(outcome);
process.exit(0);
