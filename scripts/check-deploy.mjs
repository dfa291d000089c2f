// Checks the files for containers: compose.yaml by the schema of Compose, the manifests by those of Kubernetes, and the
// Dockerfile by its grammar. Names of fields are checked by types, because Kubernetes' schemas allow unknown ones.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import dockerfileUtils from "dockerfile-utils";
import { parseAllDocuments } from "yaml";

const root = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = "deploy/kubernetes";
const problems = [];

checkDockerfile("deploy/Dockerfile");
checkCompose("compose.yaml");
const manifests = readdirSync(join(root, FOLDER)).filter((name) => name.endsWith(".yaml"));
const objects = manifests.flatMap((name) => readYaml(`${FOLDER}/${name}`));
for (const object of objects) await checkValues(object);
checkFieldNames(objects);
if (objects.length < 5) problems.push(`${FOLDER}: only ${objects.length} objects`);
for (const problem of problems) console.error(problem);
console.log(`compose.yaml, Dockerfile, ${objects.length} manifests, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function readYaml(file) {
  return parseAllDocuments(readFileSync(join(root, file), "utf8"), { merge: true }).map((document) => {
    for (const { message } of document.errors) problems.push(`${file}: ${message}`);
    return { file, value: document.toJS() ?? {} };
  });
}

function checkDockerfile(file) {
  const text = readFileSync(join(root, file), "utf8");
  for (const { message, range } of dockerfileUtils.validate(text))
    problems.push(`${file}:${range.start.line + 1}: ${message}`);
  const user = [...text.matchAll(/^USER\s+(\S+)/gm)].at(-1)?.[1] ?? "root";
  if (/^(?:root|0)(?::|$)/.test(user)) problems.push(`${file}: the image runs as root`);
}

function checkCompose(file) {
  const { $schema: _, ...schema } = JSON.parse(
    readFileSync(join(root, "node_modules/dclint/schemas/compose.schema.json"), "utf8"),
  );
  const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  for (const { value } of readYaml(file)) {
    if (!validate(value))
      for (const { instancePath, message, params } of validate.errors)
        problems.push(`${file}${instancePath}: ${message} ${JSON.stringify(params)}`);
    const { services = {}, volumes = {} } = value;
    for (const [name, service] of Object.entries(services)) {
      const { dockerfile } = service.build ?? {};
      if (dockerfile !== undefined && !existsSync(join(root, dockerfile)))
        problems.push(`${file}: ${name} is built from ${dockerfile}, which does not exist`);
      for (const other of Object.keys(service.depends_on ?? {}))
        if (!(other in services)) problems.push(`${file}: ${name} depends on ${other}, which does not exist`);
      for (const volume of service.volumes ?? []) {
        const [source] = volume.split(":");
        if (!source.startsWith("/") && !(source in volumes))
          problems.push(`${file}: ${name} uses the volume ${source}, which is not declared`);
      }
    }
  }
}

/** As in an import: `apps/v1`, or `v1` for the core. */
function locateModel({ apiVersion, kind }) {
  return { module: `kubernetes-models/${apiVersion}`, kind };
}

async function checkValues({ file, value }) {
  const { module, kind } = locateModel(value);
  const models = await import(module).catch(() => ({}));
  const Model = models[kind];
  if (Model === undefined) problems.push(`${file}: no ${kind} in ${value.apiVersion}`);
  else
    try {
      new Model(value).validate();
    } catch (error) {
      problems.push(`${file}: ${kind}: ${error.message}`);
    }
}

/** The compiler refuses a field that a literal has and its type has not, at any depth. */
function checkFieldNames(objects) {
  const temporary = mkdtempSync(join(root, "node_modules/.check-deploy-"));
  try {
    const lines = objects.map(({ value }, at) => {
      const { module, kind } = locateModel(value);
      return `export const object${at}: import("${module}").I${kind} = ${JSON.stringify(value)};`;
    });
    writeFileSync(join(temporary, "objects.ts"), lines.join("\n"));
    const options = {
      module: "NodeNext",
      target: "ES2024",
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
    };
    writeFileSync(join(temporary, "tsconfig.json"), JSON.stringify({ compilerOptions: options }));
    const { status, stdout } = spawnSync("tsc", ["-p", temporary, "--pretty", "false"], { encoding: "utf8" });
    if (status === 0) return;
    for (const [, line, message] of stdout.matchAll(/objects\.ts\((\d+),\d+\): (.*)/g))
      problems.push(`${objects[line - 1]?.file}: ${message}`);
    if (stdout === "" || !stdout.includes("objects.ts")) problems.push(`tsc failed: ${stdout}`);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
