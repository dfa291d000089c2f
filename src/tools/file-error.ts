import { PostriderError } from "../core/errors.ts";

/** Translates a system error about a file. */
export function toFileError(error: unknown, shown: string): PostriderError {
  if (error instanceof PostriderError) return error;
  const code = getFileErrorCode(error);
  switch (code) {
    case "ENOENT":
      return new PostriderError("not_found", `${shown} does not exist.`);
    case "ENOTDIR":
      return new PostriderError("not_found", `${shown} does not exist: a part of its path is a file.`);
    case "EISDIR":
      return new PostriderError("invalid_input", `${shown} is a folder.`);
    case "ELOOP":
      return new PostriderError("not_allowed", `${shown} became a link while it was opened. Check it again.`);
    case "EACCES":
    case "EPERM":
      return new PostriderError("not_allowed", `Permission denied for ${shown}.`);
    case "ENAMETOOLONG":
      return new PostriderError("invalid_input", `${shown} is too long for a file name.`);
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new PostriderError(
        "disk_full",
        `The disk has no space for ${shown}. Nothing was changed. Free some space and try again.`,
      );
    case "EROFS":
      return new PostriderError("read_only", `${shown} is on a read-only file system.`);
    default:
      return new PostriderError("internal", `${shown}: ${error instanceof Error ? error.message : code}`, {
        cause: error,
      });
  }
}

export function getFileErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
