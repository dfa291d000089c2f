import { resolve } from "node:path";
import { canMatchName, isGlob } from "./glob.ts";

/** A home folder in any notation. */
const HOME = /^(?:~[\w.-]*|\$\{?HOME\}?|\/root|\/home\/[^/]+|\/Users\/[^/]+|\/var\/root)(?=\/|$)/;

/** Normalizes a path: `~/…` for a home in any notation; no `//`, no `/./`. */
export function normalizeHome(path: string): string {
  const given = path.replace(/^file:\/\//, "");
  const plain = given.split(/\/+/).filter((part, index) => part !== "." || index === 0);
  return plain.join("/").replace(HOME, "~");
}

const SYSTEM =
  /^\/(?:private\/)?(?:etc|usr|bin|sbin|lib|lib32|lib64|boot|sys|proc|opt|System|Library|Applications|var\/(?:lib|spool|www|db|cron))(?:\/|$)/;
const DISK =
  /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper|md|dm-|loop|sr|mem|kmem|port|nbd|zd|zvol|ram)/;
const STARTUP =
  /^(?:~\/)?\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc|login|xinitrc|xsession|xprofile|pam_environment|inputrc|envrc)$|(?:^|\/)(?:LaunchAgents|LaunchDaemons|autostart|\.git\/hooks)\/|\/fish\/(?:config\.fish|conf\.d\/|functions\/)|\/systemd\/(?:user|system)\/|\/cron(?:tabs|\.d|\.daily|\.hourly)?\//;
const SSH = /(?:^|\/)\.ssh(?:\/|$)|(?:^|\/)authorized_keys2?$/;
/** Excludes the workspaces of agents, unless the path leaves them again. */
const POSTRIDER = /(?:^|\/)\.postrider(?!\/workspace(?:\/(?!.*\.\.)|$))(?:\/|$)|^\$\{?POSTRIDER_HOME\b/;

/** Resolves `~/a/../.ssh` to `~/.ssh`. */
function resolveParents(place: string): string {
  if (!place.includes("..")) return place;
  const names: string[] = [];
  for (const name of place.split("/")) {
    if (name === ".." && names.length > 1 && names.at(-1) !== "..") names.pop();
    else names.push(name);
  }
  return names
    .join("/")
    .replace(/^~\/\.\.(?=\/|$)/, "/home")
    .replace(HOME, "~");
}

/** The danger of a write to this path, if there is one. */
export type SensitiveWrite =
  | "disk"
  | "postrider-data"
  | "ssh-access"
  | "startup"
  | "system-file"
  | "overwrite";

export function classifyWrite(path: string, isReplaced: boolean): SensitiveWrite | undefined {
  const place = resolveParents(normalizeHome(path));
  if (DISK.test(place)) return "disk";
  if (POSTRIDER.test(place)) return "postrider-data";
  if (SSH.test(place)) return "ssh-access";
  if (STARTUP.test(place)) return "startup";
  if (place === "/" || path === "/") return "system-file";
  if (SYSTEM.test(place) && !/^\/proc\/self\/fd\//.test(place)) return "system-file";
  const isOwn = /^~\/\.[^/]+$/.test(place) || /(?:^|\/)\.env$/.test(place);
  return isReplaced && isOwn ? "overwrite" : undefined;
}

const SECRETS: readonly RegExp[] = [
  /(?:^|\/)\.ssh(?:\/(?!(?:config|known_hosts(?:\.old)?|[^/]*\.pub)$)|$)/,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
  /(?:^|\/)\.(?:aws|gnupg|kube|azure|oci|password-store)(?:\/|$)/,
  /(?:^|\/)\.config\/(?:gcloud|gh|op|rclone|doctl|hub)(?:\/|$)/,
  /(?:^|\/)\.(?:netrc|pgpass|my\.cnf|npmrc|pypirc|git-credentials|vault-token|s3cfg|boto|authinfo|htpasswd)(?:\.gpg)?$/,
  /(?:^|\/)_netrc$/,
  /(?:^|\/)\.docker\/config\.json$/,
  /(?:^|\/)\.env(?:\.(?!example$|sample$|template$|dist$|defaults?$|schema$)[\w.-]+)?$/,
  /(?:^|\/)\.(?:bash|zsh|python|psql|mysql|node_repl)_history$/,
  /^\/etc\/(?:shadow|gshadow|sudoers|master\.passwd|krb5\.keytab|ssl\/private)/,
  /^\/etc\/ssh\/ssh_host_[^/]*_key$/,
  /^\/proc\/(?:[^/]+\/)?(?:task\/[^/]+\/)?(?:environ|mem|maps|cwd|root|map_files|fd)(?:\/(?!\d$)|$)/,
  /^\/proc\/kcore$/,
  /^\/run\/(?:secrets|credentials)(?:\/|$)|^\/var\/run\/secrets(?:\/|$)/,
  /(?:^|\/)\.(?:mozilla|thunderbird)(?:\/|$)|(?:^|\/)(?:google-chrome|chromium|BraveSoftware)(?:\/|$)/,
  /(?:^|\/)\.(?:cargo\/credentials|terraform\.d\/credentials|config\/(?:hub|git\/credentials|sops)|local\/share\/keyrings|electrum|bitcoin|ethereum)/,
  /(?:^|\/)Keychains(?:\/|$)/,
  /\.(?:keychain|keychain-db|kdbx|p12|pfx|jks|keystore)$/,
  /(?:^|\/)(?:key4\.db|logins\.json|Login Data|Cookies|wallet\.dat)$/,
  /(?:^|\/)(?:service[-_]account|credentials|secrets?)\.(?:json|ya?ml|toml)$/,
  /(?:^|\/)[^/]*(?:private|secret)[^/]*\.(?:pem|key)$/,
];

/** Whether the path may contain keys, passwords, tokens or messages of other people. */
export function isSecretPath(path: string): boolean {
  const place = normalizeHome(path.slice(-1024));
  if (place.includes("..") && hasSecretPattern(resolveParents(place))) return true;
  return POSTRIDER.test(place) || SECRETS.some((pattern) => pattern.test(place));
}

function hasSecretPattern(place: string): boolean {
  return POSTRIDER.test(place) || SECRETS.some((pattern) => pattern.test(place));
}

/** Includes relative paths and patterns. */
export function canBeSecret(path: string, cwds: readonly string[]): boolean {
  if (isSecretPath(path)) return true;
  if (path.length > 1024) return false;
  if (/\s/.test(path)) return false;
  if (isGlob(path)) return canMatchSecret(path) || cwds.some((cwd) => canMatchSecret(resolve(cwd, path)));
  if (/^[~$]/.test(path)) return false;
  return cwds.some((cwd) => {
    const place = normalizeHome(resolve(cwd, path));
    return SECRETS.some((pattern) => pattern.test(place));
  });
}

/** Common secret files, against which patterns are matched. */
const USUAL_SECRETS: readonly (readonly string[])[] = [
  ...["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "authorized_keys"].map((name) => `~/.ssh/${name}`),
  ...[
    "~/.aws/credentials",
    "~/.aws/config",
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.gnupg/secring.gpg",
  ],
  ...["~/.netrc", "~/.pgpass", "~/.npmrc", "~/.pypirc", "~/.git-credentials", "~/.my.cnf", "~/.env"],
  ...["~/.bash_history", "~/.zsh_history", "~/.config/gh/hosts.yml", "~/.config/gcloud/credentials.db"],
  ...["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/shadow-", "/etc/ssh/ssh_host_rsa_key"],
  ...["/proc/self/environ", "/proc/1/environ", "~/.postrider/config.yaml", "~/.postrider/postrider.db"],
].map((path) => path.split("/"));
const USUAL_NAMES: readonly string[] = [
  ...[".env", ".env.local", ".env.production", "id_rsa", "id_ed25519", ".netrc", ".npmrc", ".pgpass"],
  ...["credentials.json", "secrets.yaml", ".git-credentials", "private.key"],
];

function canMatchSecret(glob: string): boolean {
  const names = normalizeHome(glob).split("/");
  if (names[0] === "~" || names[0] === "") {
    // `/home/*/.ssh/…` is in a home too.
    const inHome = /^\/(?:home|Users)\/[^/]+\//.test(glob) ? ["~", ...names.slice(3)] : names;
    const isOne = (secret: readonly string[], own: readonly string[]): boolean =>
      secret.length === own.length && secret.every((name, at) => canMatchName(own[at] ?? "", name));
    if (USUAL_SECRETS.some((secret) => isOne(secret, names) || isOne(secret, inHome))) return true;
  }
  const last = names.at(-1) ?? "";
  if (!isGlob(last)) return false;
  const letters = last.replace(/\[[^\]]*\]|[*?]/g, "").length;
  // A pattern such as `*.json` does not target secrets; one with most of a name does.
  return USUAL_NAMES.some((name) => letters * 2 >= name.length && canMatchName(last, name));
}

/** Whether the path is Postrider's own data. */
export function isPostriderPath(path: string): boolean {
  return POSTRIDER.test(normalizeHome(path));
}

/** Whether the path is outside the working directory and outside temporary folders. */
export function isOutsideFolder(path: string): boolean {
  const place = normalizeHome(path);
  if (/^\/(?:private\/)?(?:tmp|var\/tmp)\/[^*?]+$/.test(place) && !place.includes("..")) return false;
  return /^[/~]|^[A-Za-z]:[\\/]/.test(place) || place.split("/").includes("..");
}

/** The root, a home, or a whole system folder. */
export function isBroadPath(path: string): boolean {
  const place = normalizeHome(path).replace(/\/(?:\*|\.\*|\.)?$/, "");
  return place === "" || place === "~" || place === "/*" || SYSTEM.test(`${place}/`);
}
