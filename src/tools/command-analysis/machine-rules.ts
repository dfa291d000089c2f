import { type DangerRule, hasFlag, matchPrograms } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";
import { classifyWrite, isBroadPath, isSecretPath } from "./sensitive-paths.ts";
import type { ShellScript } from "./shell-script.ts";

/** Rules for disks, users, services and other processes. */
export const MACHINE_RULES: readonly DangerRule[] = [
  {
    kind: "privilege",
    why: "runs with the rights of another user",
    matches: (call) =>
      /^(?:sudo|sudoedit|doas|su|pkexec|runas|gosu|su-exec|runuser|visudo|machinectl|chroot|nsenter|setpriv|sg|newgrp|kdesu|gksu|gksudo)$/.test(
        call.program,
      ) &&
      !(
        call.program === "sudo" &&
        call.argTexts.every((arg) => /^(?:-V|--version|-h|--help|-k)$/.test(arg)) &&
        call.argTexts.length > 0
      ),
  },
  {
    kind: "container",
    why: "gives a container access to the whole machine",
    matches: (call) =>
      /^(?:docker|podman|nerdctl|lxc|ctr)$/.test(call.program) &&
      call.argTexts.some((arg, index) => {
        if (/^--(?:privileged|pid=host|userns=host|ipc=host|cap-add|device|security-opt)/.test(arg))
          return true;
        const mounted = /^(?:-v|--volume|--mount)$/.test(call.argTexts[index - 1] ?? "")
          ? arg
          : /^(?:-v|--volume=|--mount=)(.+)$/.exec(arg)?.[1];
        const source = /(?:^|,)(?:source|src)=([^,]*)/.exec(mounted ?? "")?.[1] ?? mounted?.split(":", 1)[0];
        return (
          source !== undefined &&
          (isBroadPath(source) || isSecretPath(source) || /docker\.sock$/.test(source))
        );
      }),
  },
  {
    kind: "setuid",
    why: "lets a program run with the rights of its owner (setuid)",
    matches: (call) =>
      call.program === "setcap" ||
      (call.program === "install" &&
        call.argTexts.some((arg) => /^(?:-m|--mode=)?0*[2467][0-7]{3}$|[+=][rwxXt]*s/.test(arg))) ||
      (call.program === "chmod" &&
        call.argTexts.some((mode) => /^[ugoa]*[+=][rwxXt]*s|^0*[2467][0-7]{3}$/.test(mode))),
  },
  {
    kind: "disk",
    why: "writes to a disk device or unmounts one",
    matches: (call) =>
      /^(?:mkfs(?:\..+)?|mke2fs|mkswap|newfs.*|fdisk|sfdisk|gdisk|sgdisk|cfdisk|parted|wipefs|blkdiscard|hdparm|swapoff|diskpart|lvremove|vgremove|pvremove|cryptsetup|mdadm|zpool|umount|mount|losetup)$/.test(
        call.program,
      )
        ? !isReadOnly(call)
        : (call.program === "dd" && call.argTexts.some(isDiskOutput)) ||
          (call.program === "diskutil" &&
            call.operands.some((verb) =>
              /^(?:erase|partition|zero|secureErase|apfs|reformat)/i.test(verb),
            )) ||
          (call.program === "format" && call.operands.some((drive) => /^[a-z]:$/i.test(drive))),
  },
  {
    kind: "shutdown",
    why: "stops or restarts the machine",
    matches: (call) =>
      /^(?:shutdown|reboot|halt|poweroff|kexec|pm-suspend)$/.test(call.program) ||
      (/^(?:init|telinit)$/.test(call.program) && /^[016s]$/i.test(call.operands[0] ?? "")) ||
      (call.program === "systemctl" &&
        /^(?:reboot|poweroff|halt|kexec|suspend|hibernate|rescue|emergency|isolate)$/.test(
          call.operands[0] ?? "",
        )),
  },
  {
    kind: "service",
    why: "stops a service, or changes which services run",
    matches: (call) =>
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
    why: "changes scheduled tasks",
    matches: (call) =>
      (call.program === "crontab" && !(hasFlag(call, "l") && !hasFlag(call, "r", "e"))) ||
      /^(?:at|batch|schtasks|systemd-run|fcrontab|atrm)$/.test(call.program),
  },
  {
    kind: "kill",
    why: "ends processes that others may need, or Postrider itself",
    matches: isKilling,
  },
  {
    kind: "firewall",
    why: "changes the firewall",
    matches: (call) =>
      (/^ip6?tables(?:-restore)?$/.test(call.program) && !hasFlag(call, "L", "S", "--list")) ||
      (call.program === "nft" && !call.operands.includes("list")) ||
      (call.program === "ufw" && !/^(?:status|version)$/.test(call.operands[0] ?? "")) ||
      (/^(?:firewall-cmd|pfctl|netsh)$/.test(call.program) &&
        !hasFlag(call, "--state", "--list-all") &&
        call.argTexts.length > 0) ||
      call.program === "setenforce",
  },
  {
    kind: "users",
    why: "changes user accounts or groups",
    matches: matchPrograms(
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
    why: "changes kernel settings or modules",
    matches: (call) =>
      /^(?:insmod|rmmod|modprobe|depmod|chattr|update-grub|grub-install|efibootmgr|nvram|csrutil|spctl)$/.test(
        call.program,
      ) ||
      (call.program === "sysctl" &&
        (hasFlag(call, "w", "p", "--write", "--system") || call.operands.some((set) => set.includes("=")))),
  },
];

function isReadOnly(call: ProgramCall): boolean {
  if (/^(?:mount|losetup|mdadm|hdparm)$/.test(call.program) && call.argTexts.length === 0) return true;
  if (call.program === "zpool")
    return !/^(?:destroy|create|labelclear|remove|detach|offline)$/.test(call.operands[0] ?? "");
  return hasFlag(call, "l", "--list", "--help", "V", "--version") && call.program !== "umount";
}

function isDiskOutput(arg: string): boolean {
  return arg.startsWith("of=") && classifyWrite(arg.slice(3), false) === "disk";
}

const PROTECTED_PROCESSES =
  /^(?:postrider|node|nodejs|init|systemd|launchd|sshd|bash|zsh|sh|fish|login|xorg|gnome-shell|finder|dbus-daemon)$/;

function isKilling(call: ProgramCall): boolean {
  const { program, argTexts, operands } = call;
  if (program === "killall5") return true;
  // -1 is every process, and 1 is init.
  if (program === "kill") {
    const [first = ""] = argTexts;
    const isSignal = /^-(?:s$|n$|-signal|[a-z\d])/i.test(first);
    const rest = argTexts.slice(isSignal ? (/^-[sn]$/.test(first) ? 2 : 1) : 0);
    const all = rest.length === 0 && first === "-1" ? argTexts : rest;
    if (call.args.some(({ substitutions }) => substitutions.some(isFindingProtectedProcess))) return true;
    return all.some((pid) => /^-?0*1$|^-0*$/.test(pid)) || (isSignal && first !== "-0" && rest.includes("0"));
  }
  if (program !== "pkill" && program !== "killall" && program !== "taskkill") return false;
  if (
    hasFlag(call, "u", "U", "g", "--user", "--uid", "--euid", "v", "--inverse") ||
    (program === "pkill" && hasFlag(call, "t", "--terminal"))
  )
    return true;
  return operands.some((name) => isProtectedProcess(name) || /^[.*^$]*$/.test(name));
}

/** Matches parts of a name too, because these programs accept patterns. */
function isProtectedProcess(name: string): boolean {
  const plain = name.toLowerCase().replace(/[\^$\\[\]()]/g, "");
  return (
    PROTECTED_PROCESSES.test(plain) ||
    plain.includes("postrider") ||
    (plain.length > 2 && "node postrider gateway run".includes(plain.trim()))
  );
}

/** `kill $(pgrep postrider)` */
function isFindingProtectedProcess(script: ShellScript): boolean {
  return script.some(({ members }) =>
    members.some((member) =>
      "body" in member
        ? isFindingProtectedProcess(member.body)
        : member.words.some(({ text }) => isProtectedProcess(text)),
    ),
  );
}
