import { type DangerRule, hasFlag, isLongOption, matchPrograms, type ProgramInput } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";
import type { ShellScript } from "./shell-script.ts";

const FETCHERS: ReadonlySet<string> = new Set([
  "curl",
  "wget",
  "fetch",
  "aria2c",
  "http",
  "https",
  "xh",
  "lynx",
  "links",
  "w3m",
  "invoke-webrequest",
  "iwr",
  "irm",
  "aria2",
  "axel",
  "curlie",
  "invoke-restmethod",
  "nc",
  "ncat",
  "netcat",
  "socat",
  "ftp",
  "tftp",
  "lftp",
]);
const WIRES: ReadonlySet<string> = new Set([
  "nc",
  "ncat",
  "netcat",
  "socat",
  "telnet",
  "cryptcat",
  "openssl",
]);
const TALKERS: ReadonlySet<string> = new Set([
  ...FETCHERS,
  "telnet",
  "dig",
  "nslookup",
  "host",
  "ping",
  "ssh",
  "mail",
  "mailx",
  "sendmail",
  "mutt",
  "msmtp",
  "logger",
]);
const isMailer = matchPrograms("mail", "mailx", "sendmail", "mutt", "msmtp", "swaks");

export function isFetcher({ program }: ProgramCall): boolean {
  return FETCHERS.has(program);
}

/** Rules for network connections. */
export const NETWORK_RULES: readonly DangerRule[] = [
  {
    kind: "remote-shell",
    why: "opens a shell or a raw connection to another machine",
    matches: (call, { files }) =>
      ([...call.argTexts, ...files].some((word) => /\/dev\/(?:tcp|udp)\//.test(word)) &&
        !TEXT.has(call.program)) ||
      (WIRES.has(call.program) &&
        call.program !== "openssl" &&
        hasFlag(call, "e", "c", "--exec", "--sh-exec")) ||
      (call.program === "socat" &&
        call.argTexts.some((word) => /(?:^|,|!!)(?:exec|system|shell):/i.test(word))) ||
      (call.program === "socat" &&
        call.argTexts.some((word) => /^(?:tcp|udp|ssl|openssl|sctp)/i.test(word))) ||
      (call.program === "ssh" && hasFlag(call, "R", "D", "L", "w")) ||
      /^(?:telnetd|dropbear|gsocket|gs-netcat|chisel|ngrok|cloudflared|bore|localtunnel|lt|frpc|tailscale|pwncat)$/.test(
        call.program,
      ) ||
      call.program === "msfvenom",
  },
  {
    kind: "remote-script",
    why: "runs code from another machine without a review",
    matches: ({ program, argTexts }) =>
      /^(?:deno|npx|bunx|pnpx|bun|pip3?|pipx|uvx?|npm|pnpm|yarn|go|cargo|gem|rbenv)$/.test(program) &&
      argTexts.some((arg) => /^(?:https?|git\+\w+|git|ssh|jsr):\/\//.test(arg)) &&
      /^(?:run|install|i|add|exec|x|dlx|eval|serve)$|:\/\//.test(
        argTexts.find((arg) => !arg.startsWith("-")) ?? "",
      ),
  },
  {
    kind: "sends-data",
    why: "sends files or other data to another machine",
    matches: (call, feed) => isSending(call, feed),
  },
];

/** Programs that only print or compare their arguments. */
const TEXT: ReadonlySet<string> = new Set([
  "echo",
  "printf",
  "grep",
  "egrep",
  "fgrep",
  "rg",
  "ag",
  "git",
  "test",
  "[",
]);

function isSending(call: ProgramCall, feed: ProgramInput): boolean {
  const { program, argTexts, operands, args } = call;
  if (program === "curl")
    return (
      argTexts.some((arg, index) => isCurlUpload(arg, argTexts[index + 1] ?? "")) || isSendingLocalData(call)
    );
  if (program === "wget")
    return argTexts.some((arg) => /^--(?:post-f|body-f)/.test(arg)) || isSendingLocalData(call);
  if (program === "http" || program === "https" || program === "xh")
    return (
      operands.some((item) => /^[^=@]+(?:=|:=)?@/.test(item)) || feed.isPiped || isSendingLocalData(call)
    );
  if (WIRES.has(program)) {
    const isWire = program !== "openssl" || operands[0] === "s_client";
    return (
      isWire &&
      (feed.isPiped ||
        feed.files.length > 0 ||
        isSendingLocalData(call) ||
        argTexts.some((arg) => /^(?:file|open):/i.test(arg)))
    );
  }
  if (/^(?:croc|wormhole|magic-wormhole|transfer|ffsend|rsend|termbin|pastebinit|sprunge)$/.test(program))
    return feed.isPiped || /^(?:send|tx)$/.test(operands[0] ?? "send");
  if (program === "scp" || program === "rsync") return operands.length > 1 && isRemote(operands.at(-1) ?? "");
  if (program === "ssh")
    return feed.files.length > 0 || (feed.isPiped && operands.length > 1) || isSendingLocalData(call);
  if (program === "sftp") return feed.isPiped || feed.files.length > 0 || hasFlag(call, "b");
  if (program === "ftp" || program === "tftp" || program === "lftp")
    return /\b(?:m?put|mirror\s+-R)\b/.test([...argTexts, feed.text ?? ""].join(" "));
  if (program === "rclone")
    return /^(?:copy|copyto|move|moveto|rcat)$/.test(operands[0] ?? "") && isRemote(operands.at(-1) ?? "");
  if (program === "aws")
    return (
      operands[0] === "s3" && /^(?:cp|mv|sync)$/.test(operands[1] ?? "") && /^s3:/.test(operands.at(-1) ?? "")
    );
  if (program === "gsutil" || program === "gcloud") return /^gs:/.test(operands.at(-1) ?? "");
  if (program === "gh") return operands[0] === "gist" && operands[1] === "create";
  if (isMailer(call)) return feed.isPiped || feed.files.length > 0 || hasFlag(call, "a", "A");
  return TALKERS.has(program) && args.length > 0 && isSendingLocalData(call);
}

function isCurlUpload(arg: string, next: string): boolean {
  const [, name = "", attached] = /^(--[\w-]+)(?:=([\s\S]*))?$/.exec(arg) ?? [];
  if (isLongOption(name, "--upload-file", "--config") && name.length > 4) return true;
  if (/^--(?:data|data-binary|data-raw|data-ascii|json|url-query|header|proxy-header)$/.test(name))
    return name !== "--data-raw" && (attached ?? next).startsWith("@");
  if (/^--(?:data-u|url-q)/.test(name)) return /^[^=]*@/.test(attached ?? next);
  if (/^--data?-?[a-z]*$/.test(name) && name !== "--data-raw") return (attached ?? next).startsWith("@");
  if (/^--form?$/.test(name)) return isFormFile(attached ?? next);
  if (/^-[a-zA-Z#]*K/.test(arg) && !arg.startsWith("--")) return true;
  // -T FILE, -sT FILE, -TFILE; -d @FILE, -d@FILE.
  const short = /^-([a-zA-Z#]*?)([TdF])([\s\S]*)$/.exec(arg);
  if (short === null || arg.startsWith("--") || /[oHXAbcemuUxEKwrCyYzt]/.test(short[1] ?? "")) return false;
  const value = (short[3] ?? "") === "" ? next : (short[3] ?? "");
  if (short[2] === "T") return true;
  return short[2] === "d" ? value.startsWith("@") : isFormFile(value);
}

function isFormFile(value: string): boolean {
  return /^[^=]*=[@<]/.test(value);
}

/** Whether the request contains local data: a file or the environment. */
function isSendingLocalData({ args }: ProgramCall): boolean {
  return args.some(
    ({ text, substitutions }) =>
      substitutions.some(isReadingLocalData) || (/^https?:|^\w+=/.test(text) && SECRET_NAME.test(text)),
  );
}

const SECRET_NAME = /\$\w{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE|CREDENTIAL)/i;

function isReadingLocalData(script: ShellScript): boolean {
  return script.some(({ members }) =>
    members.some((member) =>
      "body" in member
        ? isReadingLocalData(member.body)
        : member.redirects.some(({ mode }) => mode === "read") ||
          /^(?:.*\/)?(?:env|printenv|set|export|declare|cat|tac|head|tail|base64|xxd|od|tar|gzip|zip|history|security|pass)$/.test(
            member.words[0]?.text ?? "",
          ),
    ),
  );
}

function isRemote(place: string): boolean {
  return /^(?:[^/:\s]+@)?[^/:\s]{2,}:|^(?:rsync|ssh|scp|sftp|s3|gs):\/\//.test(place);
}
