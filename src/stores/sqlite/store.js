import { resolve } from "node:path";
import { PostriderError } from "../../core/errors.js";
import { OPERATIONS } from "../sql/operations.js";
/** Opens a database, and creates it if it does not exist. */
export async function sqliteStore(options) {
    checkOptions(options);
    const { onLost, ...rest } = options;
    const settings = { ...rest, file: resolve(options.file) };
    const transport = await (options.mode === "in-process"
        ? (await import("./in-process-transport.js")).openInProcessTransport(settings)
        : (await import("./worker-transport.js")).openWorkerTransport(settings));
    const write = onLost === undefined ? transport.write : reportLoss(transport.write, onLost);
    const call = (name, kind) => kind === "read" || kind === "readLong"
        ? (input) => transport.read(name, input)
        : (input) => write(name, input);
    const facets = Object.entries(OPERATIONS).map(([facet, operations]) => [
        facet,
        Object.fromEntries(Object.entries(operations).map(([name, { kind }]) => [name, call(name, kind)])),
    ]);
    const { onChange, close } = transport;
    return { ...Object.fromEntries(facets), onChange, close };
}
function reportLoss(write, onLost) {
    let isReported = false;
    return async (name, input) => {
        try {
            return await write(name, input);
        }
        catch (error) {
            if (error instanceof PostriderError && error.code === "store_lost" && !isReported) {
                isReported = true;
                onLost(error);
            }
            throw error;
        }
    };
}
function checkOptions(options) {
    const { file, mode = "workers", maxBytes = 1 } = options ?? {};
    const createOptionError = (field, expected) => new PostriderError("invalid_input", `${field} must be ${expected}.`, { details: { field } });
    if (typeof file !== "string" || file === "" || file.includes("\0"))
        throw createOptionError("file", "the path of a file");
    if (mode !== "workers" && mode !== "in-process")
        throw createOptionError("mode", "workers or in-process");
    if (!Number.isFinite(maxBytes) || maxBytes <= 0)
        throw createOptionError("maxBytes", "a number of bytes");
}
