/** Someone's home folder, however it is written. */
const HOME = /^(?:~[\w.-]*|\$\{?HOME\}?|\/root|\/home\/[^/]+|\/Users\/[^/]+|\/var\/root)(?=\/|$)/;

/** `~/…` for what lies in a home, in whichever way it is written; no `//`, no `/./`. */
export function tidied(path: string): string {
  const given = path.replace(/^file:\/\//, "");
  const plain = given.split(/\/+/).filter((part, index) => part !== "." || index === 0);
  return plain.join("/").replace(HOME, "~");
}

const SYSTEM =
  /^\/(?:private\/)?(?:etc|usr|bin|sbin|lib|lib32|lib64|boot|sys|proc|opt|System|Library|Applications|var\/(?:lib|spool|www|db|cron))(?:\/|$)/;
const DISK =
  /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper|md|dm-|loop|sr|mem|kmem|port|nbd|zd|zvol|ram)/;
const STARTS =
  /^(?:~\/)?\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc|login|xinitrc|xsession|xprofile|pam_environment|inputrc|envrc)$|(?:^|\/)(?:LaunchAgents|LaunchDaemons|autostart|\.git\/hooks)\/|\/fish\/(?:config\.fish|conf\.d\/|functions\/)|\/systemd\/(?:user|system)\/|\/cron(?:tabs|\.d|\.daily|\.hourly)?\//;
const SSH = /(?:^|\/)\.ssh(?:\/|$)|(?:^|\/)authorized_keys2?$/;
/** But for the folder in which agents work, unless the path leads out of it again. */
const POSTRIDER = /(?:^|\/)\.postrider(?!\/workspace(?:\/(?!.*\.\.)|$))(?:\/|$)|^\$\{?POSTRIDER_HOME\b/;

/** What is changed by writing to a place, where that is more than a file. */
export type Written = "disk" | "postrider-data" | "ssh-access" | "startup" | "system-file" | "overwrite";

export function writtenAt(path: string, isReplaced: boolean): Written | undefined {
  const place = tidied(path);
  if (DISK.test(place)) return "disk";
  if (POSTRIDER.test(place)) return "postrider-data";
  if (SSH.test(place)) return "ssh-access";
  if (STARTS.test(place)) return "startup";
  if (SYSTEM.test(place) && !/^\/proc\/self\/fd\//.test(place)) return "system-file";
  const isOwn = /^~\/\.[^/]+$/.test(place) || /(?:^|\/)\.env$/.test(place);
  return isReplaced && isOwn ? "overwrite" : undefined;
}

const SECRETS: readonly RegExp[] = [
  POSTRIDER, // everyone's conversations, too
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
  /^\/proc\/(?:self|\d+|\*|\$\w*)\/(?:environ|mem)$/,
  /(?:^|\/)Keychains(?:\/|$)/,
  /\.(?:keychain|keychain-db|kdbx|p12|pfx|jks|keystore)$/,
  /(?:^|\/)(?:key4\.db|logins\.json|Login Data|Cookies|wallet\.dat)$/,
  /(?:^|\/)(?:service[-_]account|credentials|secrets?)\.(?:json|ya?ml|toml)$/,
  /(?:^|\/)[^/]*(?:private|secret)[^/]*\.(?:pem|key)$/,
];

/** Whether keys, passwords, tokens or other people's words are kept there. */
export function isSecretPlace(path: string): boolean {
  const place = tidied(path.slice(-1024));
  return SECRETS.some((pattern) => pattern.test(place));
}

/** Whether it is Postrider's own data. */
export function isPostriders(path: string): boolean {
  return POSTRIDER.test(tidied(path));
}

/** Whether it lies elsewhere than below the folder where the command runs, and not among temporary files. */
export function isElsewhere(path: string): boolean {
  const place = tidied(path);
  if (/^\/(?:private\/)?(?:tmp|var\/tmp)\/[^*?]+$/.test(place) && !place.includes("..")) return false;
  return /^[/~]|^[A-Za-z]:[\\/]/.test(place) || place.split("/").includes("..");
}

/** The root, a home, or all of a folder that belongs to the system. */
export function isWide(path: string): boolean {
  const place = tidied(path).replace(/\/(?:\*|\.\*|\.)?$/, "");
  return place === "" || place === "~" || place === "/*" || SYSTEM.test(`${place}/`);
}
