import type { Call } from "./call.ts";
import { isSecretPlace, isWide, writtenAt } from "./places.ts";
import { has, named, type Rule } from "./rule.ts";
import type { Script } from "./script.ts";

/** Disks, users, services, other programs: what reaches further than a folder. */
export const MACHINE_RULES: readonly Rule[] = [
  {
    kind: "privilege",
    why: "runs with another user's rights",
    is: (call) =>
      /^(?:sudo|sudoedit|doas|su|pkexec|runas|gosu|su-exec|runuser|visudo|machinectl|chroot|nsenter|setpriv|sg|newgrp|kdesu|gksu|gksudo)$/.test(
        call.program,
      ) &&
      !(
        call.program === "sudo" &&
        call.given.every((arg) => /^(?:-V|--version|-h|--help|-k)$/.test(arg)) &&
        call.given.length > 0
      ),
  },
  {
    kind: "container",
    why: "gives a container the whole machine",
    is: (call) =>
      /^(?:docker|podman|nerdctl|lxc|ctr)$/.test(call.program) &&
      call.given.some((arg, index) => {
        if (/^--(?:privileged|pid=host|userns=host|ipc=host|cap-add|device|security-opt)/.test(arg))
          return true;
        const mounted = /^(?:-v|--volume|--mount)$/.test(call.given[index - 1] ?? "")
          ? arg
          : /^(?:-v|--volume=|--mount=)(.+)$/.exec(arg)?.[1];
        const source = /(?:^|,)(?:source|src)=([^,]*)/.exec(mounted ?? "")?.[1] ?? mounted?.split(":", 1)[0];
        return (
          source !== undefined && (isWide(source) || isSecretPlace(source) || /docker\.sock$/.test(source))
        );
      }),
  },
  {
    kind: "setuid",
    why: "lets a program run with its owner's rights",
    is: (call) =>
      call.program === "setcap" ||
      (call.program === "install" &&
        call.given.some((arg) => /^(?:-m|--mode=)?0*[2467][0-7]{3}$|[+=][rwxXt]*s/.test(arg))) ||
      (call.program === "chmod" &&
        call.given.some((mode) => /^[ugoa]*[+=][rwxXt]*s|^0*[2467][0-7]{3}$/.test(mode))),
  },
  {
    kind: "disk",
    why: "writes to a disk itself, or takes one away",
    is: (call) =>
      /^(?:mkfs(?:\..+)?|mke2fs|mkswap|newfs.*|fdisk|sfdisk|gdisk|sgdisk|cfdisk|parted|wipefs|blkdiscard|hdparm|swapoff|diskpart|lvremove|vgremove|pvremove|cryptsetup|mdadm|zpool|umount|mount|losetup)$/.test(
        call.program,
      )
        ? !isOnlyShown(call)
        : (call.program === "dd" && call.given.some(isDiskOutput)) ||
          (call.program === "diskutil" &&
            call.operands.some((verb) =>
              /^(?:erase|partition|zero|secureErase|apfs|reformat)/i.test(verb),
            )) ||
          (call.program === "format" && call.operands.some((drive) => /^[a-z]:$/i.test(drive))),
  },
  {
    kind: "shutdown",
    why: "stops or restarts the machine",
    is: (call) =>
      /^(?:shutdown|reboot|halt|poweroff|kexec|pm-suspend)$/.test(call.program) ||
      (/^(?:init|telinit)$/.test(call.program) && /^[016s]$/i.test(call.operands[0] ?? "")) ||
      (call.program === "systemctl" &&
        /^(?:reboot|poweroff|halt|kexec|suspend|hibernate|rescue|emergency|isolate)$/.test(
          call.operands[0] ?? "",
        )),
  },
  {
    kind: "service",
    why: "stops a service, or changes which ones run",
    is: (call) =>
      (call.program === "systemctl" &&
        call.operands.some((verb) =>
          /^(?:stop|disable|mask|kill|enable|edit|set-default|set-property|link|revert|restart|set-environment|import-environment|clean)$/.test(
            verb,
          ),
        )) ||
      (/^(?:service|rc-service)$/.test(call.program) &&
        call.operands.some((verb) => /^(?:stop|restart)$/.test(verb))) ||
      (call.program === "launchctl" &&
        /^(?:unload|load|remove|bootout|bootstrap|disable|enable|submit)$/.test(call.operands[0] ?? "")) ||
      (/^(?:update-rc\.d|chkconfig|rc-update)$/.test(call.program) && call.operands.length > 0) ||
      (call.program === "sc" && /^(?:stop|delete|config)$/.test(call.operands[0] ?? "")),
  },
  {
    kind: "scheduled",
    why: "makes, changes or removes what runs later by itself",
    is: (call) =>
      (call.program === "crontab" && !(has(call, "l") && !has(call, "r", "e"))) ||
      /^(?:at|batch|schtasks|systemd-run|fcrontab|atrm)$/.test(call.program),
  },
  {
    kind: "kill",
    why: "ends programs that others may need, or Postrider itself",
    is: isKilling,
  },
  {
    kind: "firewall",
    why: "changes what may reach this machine",
    is: (call) =>
      (/^ip6?tables(?:-restore)?$/.test(call.program) && !has(call, "L", "S", "--list")) ||
      (call.program === "nft" && !call.operands.includes("list")) ||
      (call.program === "ufw" && !/^(?:status|version)$/.test(call.operands[0] ?? "")) ||
      (/^(?:firewall-cmd|pfctl|netsh)$/.test(call.program) &&
        !has(call, "--state", "--list-all") &&
        call.given.length > 0) ||
      call.program === "setenforce",
  },
  {
    kind: "users",
    why: "changes who may use this machine",
    is: named(
      ...[
        "useradd",
        "userdel",
        "usermod",
        "adduser",
        "deluser",
        "groupadd",
        "groupdel",
        "groupmod",
        "addgroup",
      ],
      ...["delgroup", "passwd", "chpasswd", "gpasswd", "chsh", "vipw", "vigr", "dscl", "sysadminctl"],
    ),
  },
  {
    kind: "kernel",
    why: "changes how the system itself works",
    is: (call) =>
      /^(?:insmod|rmmod|modprobe|depmod|chattr|update-grub|grub-install|efibootmgr|nvram|csrutil|spctl)$/.test(
        call.program,
      ) ||
      (call.program === "sysctl" &&
        (has(call, "w", "p", "--write", "--system") || call.operands.some((set) => set.includes("=")))),
  },
];

function isOnlyShown(call: Call): boolean {
  if (/^(?:mount|losetup|mdadm|hdparm)$/.test(call.program) && call.given.length === 0) return true;
  if (call.program === "zpool")
    return !/^(?:destroy|create|labelclear|remove|detach|offline)$/.test(call.operands[0] ?? "");
  return has(call, "l", "--list", "--help", "V", "--version") && call.program !== "umount";
}

function isDiskOutput(arg: string): boolean {
  return arg.startsWith("of=") && writtenAt(arg.slice(3), false) === "disk";
}

const OURS =
  /^(?:postrider|node|nodejs|init|systemd|launchd|sshd|bash|zsh|sh|fish|login|xorg|gnome-shell|finder|dbus-daemon)$/;

function isKilling(call: Call): boolean {
  const { program, given, operands } = call;
  if (program === "killall5") return true;
  // As a number: -1 is everything, and 1 is what everything else hangs on.
  if (program === "kill") {
    const [first = ""] = given;
    const isSignal = /^-(?:s$|n$|-signal|[a-z\d])/i.test(first);
    const rest = given.slice(isSignal ? (/^-[sn]$/.test(first) ? 2 : 1) : 0);
    const all = rest.length === 0 && first === "-1" ? given : rest;
    if (call.args.some(({ inside }) => inside.some(isFindingOurs))) return true;
    return all.some((pid) => /^-?0*1$|^-0*$/.test(pid)) || (isSignal && first !== "-0" && rest.includes("0"));
  }
  if (program !== "pkill" && program !== "killall" && program !== "taskkill") return false;
  if (
    has(call, "u", "U", "g", "--user", "--uid", "--euid", "v", "--inverse") ||
    (program === "pkill" && has(call, "t", "--terminal"))
  )
    return true;
  return operands.some((name) => isOurs(name) || /^[.*^$]*$/.test(name));
}

/** Also a part of its name: these programs take patterns. */
function isOurs(name: string): boolean {
  const plain = name.toLowerCase().replace(/[\^$\\[\]()]/g, "");
  return (
    OURS.test(plain) ||
    plain.includes("postrider") ||
    (plain.length > 2 && "node postrider gateway run".includes(plain.trim()))
  );
}

/** `kill $(pgrep postrider)` */
function isFindingOurs(script: Script): boolean {
  return script.some(({ members }) =>
    members.some((member) =>
      "body" in member ? isFindingOurs(member.body) : member.words.some(({ text }) => isOurs(text)),
    ),
  );
}
