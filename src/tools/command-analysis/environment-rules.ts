/** Variables whose value is a program or code that other programs run. */
const RUNNING_VARIABLES =
  /^(?:LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|BASH_ENV|ENV|ZDOTDIR|PROMPT_COMMAND|PS[0-4]|PAGER|MANPAGER|SYSTEMD_PAGER|BAT_PAGER|EDITOR|VISUAL|FCEDIT|SUDO_EDITOR|SUDO_ASKPASS|SSH_ASKPASS|BROWSER|LESSOPEN|LESSCLOSE|LESSEDIT|GIT_(?:SSH|SSH_COMMAND|PAGER|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|ASKPASS|EXEC_PATH|CONFIG\w*|PROXY_COMMAND|TEMPLATE_DIR)|PYTHONSTARTUP|PYTHONHOME|PYTHONBREAKPOINT|PYTHONINSPECT|PYTHONWARNINGS|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|SHELLOPTS|BASHOPTS|BASH_FUNC_\w+%*|RSYNC_RSH|CVS_RSH|TAR_OPTIONS|MAKEFLAGS|MAKESHELL|RUSTC_WRAPPER|npm_config_script_shell|CARGO_BUILD_RUSTC_WRAPPER|GCONV_PATH|OPENSSL_CONF|HOSTALIASES)$/;
/** Common harmless values, for example to disable a pager. */
const HARMLESS_VALUES =
  /^(?:|cat|less(?: -[A-Za-z]+)?|more|most|true|false|:|\/bin\/true|\/bin\/cat|vim?|nvim|nano|emacs|code(?: --wait)?|ssh|0|1)$/;

/** Whether the variable makes a program run another one. */
export function isRunningVariable(name: string, value: string): boolean {
  if (!RUNNING_VARIABLES.test(name)) return false;
  if (name === "NODE_OPTIONS")
    return /-(?:r|-require|-import|-loader|-experimental-loader|-eval)\b/.test(value);
  if (name === "MAKEFLAGS") return !/^-?-?j ?\d*$/.test(value);
  if (name === "PYTHONWARNINGS") return !/^[\w:]*$/.test(value);
  if (/^PS[0-4]$/.test(name)) return /[$`]/.test(value);
  if (name.startsWith("GIT_CONFIG_"))
    return !(/^\/dev\/null$|^1$|^0$/.test(value) && /NOSYSTEM|GLOBAL|SYSTEM/.test(name));
  if (name === "_JAVA_OPTIONS" || name === "JAVA_TOOL_OPTIONS")
    return /-(?:javaagent|agent|XX:On)/.test(value);
  return !HARMLESS_VALUES.test(value);
}
