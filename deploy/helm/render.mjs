// Renders the chart with Helm for the value sets in `values/`. `node deploy/helm/render.mjs` writes
// the goldens; exit 3: Helm is not here. Helm is $HELM, or on PATH, or what .ci/run built.
import { spawnSync } from 'node:child_process';
import { writeFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const CHART = here('model-gateway');
const BUILT = here('../../.cache/helm-v3.21.4/helm');
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

export const valueSets = (folder) => readdirSync(here(folder)).filter((file) => file.endsWith('.yaml'));

/** Returns Helm's path, or null. */
export function findHelm(env = process.env) {
  const candidates = [env['HELM'] ?? 'helm', BUILT];
  return candidates.find((path) => spawnSync(path, ['version']).status === 0) ?? null;
}

/** Renders the release `gw` in the namespace `gateway`. `problem` is null if that works. */
export function render(helm, values) {
  const args = ['template', 'gw', CHART, '--namespace=gateway', '--kube-version=1.34.0', `--values=${here(values)}`];
  // The other value sets have a registry; that of the evaluation is for people to use.
  if (values === 'values/evaluation.yaml') args.push('--set=image.registry=registry.example.com');
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
  return { text: stdout, problem: status === 0 ? null : stderr };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const helm = findHelm();
  if (helm === null) {
    console.log('no Helm here: the goldens of the chart were not rendered');
    process.exit(3);
  }
  for (const file of valueSets('values')) {
    const { text, problem } = render(helm, `values/${file}`);
    if (problem !== null) throw new Error(`${file}: ${problem}`);
    writeFileSync(here(`goldens/${file}`), text);
  }
}
