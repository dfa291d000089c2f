import { PostriderError } from "../core/errors.ts";

/** What the system said about a file, as a sentence for whoever named it. */
export function toFileError(error: unknown, shown: string): PostriderError {
  if (error instanceof PostriderError) return error;
  const code = getFileErrorCode(error);
  switch (code) {
    case "ENOENT":
      return new PostriderError("not_found", `${shown} is not there.`);
    case "ENOTDIR":
      return new PostriderError("not_found", `${shown} is not there: a part of this path is a file.`);
    case "EISDIR":
      return new PostriderError("invalid_input", `${shown} is a folder.`);
    case "ELOOP":
      return new PostriderError("not_allowed", `${shown} has become a link while it was opened. Look again.`);
    case "EACCES":
    case "EPERM":
      return new PostriderError("not_allowed", `Postrider's user may not do that with ${shown}.`);
    case "ENAMETOOLONG":
      return new PostriderError("invalid_input", `${shown} is too long for a name.`);
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new PostriderError(
        "disk_full",
        `There is no room on the disk for ${shown}. Nothing was changed; make room and write again.`,
      );
    case "EROFS":
      return new PostriderError("read_only", `${shown} is on a disk that cannot be written to.`);
    default:
      return new PostriderError("internal", `${shown}: ${error instanceof Error ? error.message : code}`, {
        cause: error,
      });
  }
}

export function getFileErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
