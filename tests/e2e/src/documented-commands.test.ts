import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { commandsIn, documents } from '../test/documented-commands.js';
import { contentsOf, IMAGES } from '../../../deploy/docker/recipe.mjs';
import { podLabels, readGolden } from '../../../deploy/helm/test/goldens.js';
import { trackedFiles } from '../../../tools/check/citations.mjs';
import { ROOMS } from '../../../tools/check/rooms.mjs';
import { sharedSystem } from '../test/system.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A file that runs the command and contains this text. */
interface RunIn {
  readonly file: string;
  readonly says: string;
}
/**
 * `here`: this test runs the command on the shared system. `notRun`: the reason why no test runs
 * it.
 */
type Place = 'here' | RunIn | { readonly notRun: string };

/** Long runs: the page lists the last one. */
const verification = (command: string): [string, Place] => [
  `npm run verify:${command}`,
  { file: 'docs/verification.md', says: `npm run verify:${command}` },
];
const NO_ENGINE = { notRun: 'needs Docker, Helm or a cluster; tests check the files and recipes instead' };

/** Commands by prefix. The longest matching prefix applies. */
const PLACES = new Map<string, Place>([
  ['npm ci', { file: '.ci/run', says: 'npm ci' }],
  ['npm test', { file: 'tools/check/test.mjs', says: "['test']" }],
  ['npm run test:system', { file: 'tools/check/test.mjs', says: "'test:system'" }],
  ['npm start', { file: 'tools/check/bare.mjs', says: "['npm', 'start'" }],
  ['npm run build', { file: 'tools/check/test.mjs', says: "'build'" }],
  ['node services/dashboard/web/build.mjs', { file: 'package.json', says: 'node services/dashboard/web/build.mjs' }],
  ['npx tsc -b', { file: 'package.json', says: 'tsc -b' }],
  ['npm run lint', { file: 'tools/check/test.mjs', says: "'lint'" }],
  ['npm run jest', { file: 'tools/check/test.mjs', says: "'jest'" }],
  ['npm run generate', { notRun: 'writes the tree; tests and .ci/run compare' }],
  ['node tools/check/limits.mjs', { file: 'package.json', says: 'node tools/check/limits.mjs' }],
  ['npm run doctor', 'here'],
  ['npm run reset', 'here'],
  [
    'npm run replay-usage -w services/edge-proxy',
    { file: 'services/edge-proxy/src/commands/replay-usage.test.ts', says: 'commands/replay-usage.js' },
  ],
  [
    'node services/edge-proxy/dist/commands/replay-usage.js',
    { file: 'services/edge-proxy/src/commands/replay-usage.test.ts', says: 'commands/replay-usage.js' },
  ],
  ['npm run ledger', 'here'],
  ['npm run bus:tail -w tools/local', 'here'],
  ['npm run operator', 'here'],
  ['npm run -s operator', { file: 'tests/e2e/src/runbooks.test.ts', says: 'npm run -s operator' }],
  ['npm run permissions', 'here'],
  ['npm run migrate', { file: 'tools/operations/src/migrate-config.test.ts', says: 'migrate-main.js' }],
  ['npm run capacity', { file: 'tools/operations/src/capacity.test.ts', says: 'capacity-main.js' }],
  ['npm run secrets', { file: 'tools/operations/src/secrets/secrets.test.ts', says: 'secrets-main.js' }],
  ['npm run backup', { file: 'tests/e2e/src/upgrade/run-program.ts', says: 'backup-main.js' }],
  ['npm run restore', { file: 'tests/e2e/src/upgrade/run-program.ts', says: 'restore-main.js' }],
  ['npm run write-release', { file: 'tests/e2e/src/upgrade/released.system.test.ts', says: 'npm run write-release' }],
  ['npm run restored', { file: 'tools/operations/src/restore-main.ts', says: 'commands/restore.js' }],
  [
    'node services/billing/dist/commands/',
    { file: 'services/billing/src/commands/commands.test.ts', says: 'commands/' },
  ],
  [
    'node services/admission/dist/commands/lost-changes.js',
    { file: 'services/admission/src/commands/lost-changes.system.test.ts', says: 'dist/commands/lost-changes.js' },
  ],
  [
    'node services/dashboard/dist/operator-cli/main.js',
    { file: 'tests/e2e/src/runbooks.test.ts', says: 'dist/operator-cli/main.js' },
  ],
  ['npm run audit', { file: 'services/billing/src/commands/commands.test.ts', says: 'commands/audit' }],
  ['npm run chain', { file: 'services/billing/src/commands/commands.test.ts', says: 'commands/chain' }],
  ['npm run promote -w tools/local', { file: 'tests/e2e/src/standbys/members.ts', says: 'return promote({' }],
  ['npm run dead-letters', { file: 'services/billing/src/commands/commands.test.ts', says: 'commands/dead-letters' }],
  ['npm run check:bare', { file: 'docs/verification.md', says: 'npm run check:bare' }],
  ['node deploy/docker/stand-ins.mjs', { notRun: 'needs root and an engine: for machines without an image registry' }],
  ['npm run images', { file: 'deploy/docker/src/build-image.system.test.ts', says: 'images.mjs' }],
  ['npm run pictures -w services/dashboard/web', { notRun: 'needs a browser: run by hand after a change of pages' }],
  ['npm run bench', { file: 'docs/benchmarks.md', says: 'npm run bench' }],
  // Takes minutes on idle cores.
  ['npm run bench -- --against', { notRun: 'builds another commit: run by hand before and after a change of speed' }],
  ...['rotation', 'limits', 'faults', 'soak', 'upgrade', 'restore', 'ha', 'outage', 'unauthenticated']
    .map((name) => `faults -- ${name}`)
    .map(verification),
  ...['faults', 'fuzz', 'ledger', 'ledger -- month', 'model', 'simulation'].map(verification),
  ...['fuzz -- scanner', 'fuzz -- relay', 'fuzz -- fuzz'].map(verification),
  ['npm run check:compose', { notRun: 'needs a container engine and minutes; the page lists the last run' }],
  [
    'npm run check:cluster',
    { notRun: 'needs a Kubernetes cluster; its manifests and its table are tested (deploy/helm/cluster)' },
  ],
  ['npm run -s secrets', { file: 'tools/operations/src/secrets/secrets.test.ts', says: 'secrets-main.js' }],
  [
    'npm run lost-changes',
    { file: 'services/admission/src/commands/lost-changes.system.test.ts', says: 'dist/commands/lost-changes.js' },
  ],
  ['npm run reseal', { file: 'services/catalog/src/commands/reseal-credentials.test.ts', says: 'commands/reseal.js' }],
  ['npm sbom', { file: 'deploy/docker/stage-images.mjs', says: "'npm', ['sbom'" }],
  ['docker', NO_ENGINE],
  ['helm', NO_ENGINE],
  ['kubectl', NO_ENGINE],
  ['nats', { notRun: 'a separate tool that needs servers of the reader' }],
  ['promtool test rules', { file: 'deploy/observe/src/rules.test.ts', says: 'promtool' }],
  ['node dist/main.js', { file: 'tools/local/src/processes.ts', says: 'dist/main.js' }],
  ['curl -i http://127.0.0.1:8080/', { file: 'tools/local/src/first-start.system.test.ts', says: 'curl' }],
  ['curl https://gateway.example/', { file: 'tests/e2e/src/contract/endpoints.test.ts', says: 'test' }],
]);

const COMMANDS = documents(ROOT).flatMap((document) => commandsIn(ROOT, document));

test('every documented command is run somewhere or has a reason why not', () => {
  expect(COMMANDS.length).toBeGreaterThan(100);
  const homeless = COMMANDS.filter(({ command }) => placeOf(command) === undefined);
  expect(homeless).toEqual([]);
  const wrong = [...PLACES].flatMap(([command, place]) => {
    if (place === 'here' || 'notRun' in place) return [];
    const file = join(ROOT, place.file);
    return existsSync(file) && readFileSync(file, 'utf8').includes(place.says) ? [] : [`${command}: ${place.file}`];
  });
  expect(wrong).toEqual([]);
});

test('every documented npm script exists in its package', () => {
  const missing = COMMANDS.filter(({ document, command }) => {
    const [, script, rest = ''] = /^npm run (?:-s )?([\w:-]+)(.*)$/.exec(command) ?? [];
    if (script === undefined) return false;
    const workspace = / -w (\S+)/.exec(rest)?.[1];
    // A package's document may name a script of the package without `-w`.
    const rooms =
      workspace === undefined ? ['.', ...ROOMS.filter((room) => document.startsWith(`${room}/`))] : [workspace];
    return !rooms.some((room) => scriptOf(room, script) !== undefined);
  });
  expect(missing).toEqual([]);
});

test('commands for containers name objects of the chart and programs of the images', () => {
  const manifests = ['evaluation', 'production'].flatMap(readGolden);
  const objects = manifests.map(
    ({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name.replace(/^gw-/, 'gateway-')}`,
  );
  const components = podLabels(manifests).map((labels) => labels['app.kubernetes.io/component'] ?? '');
  const inOperate = Object.keys(IMAGES['operate']?.commands ?? {});
  const parts = new Map<string, readonly string[]>();
  const partsOf = (image: string): readonly string[] => {
    // npm takes a second for each.
    const found = parts.get(image) ?? contentsOf(IMAGES[image]?.rooms ?? []).parts;
    parts.set(image, found);
    return found;
  };
  const hasProgram = (component: string, program: string): boolean =>
    partsOf(component === 'operator' ? 'dashboard' : component).some(
      (part) => program.startsWith(`${part}/`) && existsSync(join(ROOT, program)),
    );
  let checked = 0;
  const wrongIn = (command: string): string[] => {
    const named = [...command.matchAll(/\b(?:deployment|cronjob|service|secret)\/gateway-[\w-]+/g)].map(
      ([name]) => name,
    );
    const selected = [...command.matchAll(/kubernetes\.io\/component=([\w-]+)/g)].map(([, name = '']) => name);
    const started = [...command.matchAll(/ operate ([\w-]+)|\.args = \["([\w-]+)"/g)].map(
      ([, one, other]) => one ?? other ?? '',
    );
    const [, component = '', program] =
      /\b(?:deployment\/gateway-model-gateway-|compose exec )([\w-]+) (?:-- )?(?:env \S+ )?node (\S+)/.exec(command) ??
      [];
    checked += named.length + selected.length + started.length + (program === undefined ? 0 : 1);
    return [
      ...named.filter((name) => !objects.includes(name)),
      ...selected.filter((name) => !components.includes(name)),
      ...(command.includes('--entrypoint') ? [] : started.filter((name) => !inOperate.includes(name))),
      ...(program === undefined || hasProgram(component, program) ? [] : [program]),
    ];
  };
  const wrong = COMMANDS.flatMap(({ document, command }) => wrongIn(command).map((name) => [document, command, name]));
  expect(wrong).toEqual([]);
  expect(checked).toBeGreaterThan(40);
});

const kubectl = process.env['KUBECTL'] ?? 'kubectl';
const withKubectl = spawnSync(kubectl, ['version', '--client'], { stdio: 'ignore' }).status === 0 ? test : test.skip;
withKubectl(
  'kubectl knows the options of every documented command (needs kubectl)',
  () => {
    const lines = COMMANDS.flatMap(({ command }) => command.replaceAll('\\|', '|').split(' | '));
    const commands = new Set(
      lines.filter((line) => line.startsWith('kubectl ')).map((line) => line.replace(/<[^>]*>/g, 'x')),
    );
    expect(commands.size).toBeGreaterThan(15);
    for (const command of commands) {
      // No cluster: it fails at the connection, after it has read its options.
      const { stderr } = spawnSync(
        'bash',
        ['-c', command.replace('kubectl ', '"$KUBECTL" --server=http://127.0.0.1:9 --request-timeout=1s ')],
        {
          env: { ...process.env, KUBECTL: kubectl, KUBECONFIG: '/dev/null' },
          input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n',
          encoding: 'utf8',
          timeout: 20_000,
        },
      );
      expect([command, stderr]).toEqual([
        command,
        expect.not.stringMatching(/unknown (command|flag|shorthand)|invalid argument/),
      ]);
    }
  },
  120_000,
);

test('every compiled program that a file names by its path from the root exists', () => {
  const named = [...trackedFiles(ROOT.replace(/\/$/, '')).files].flatMap(([file, text]) =>
    [...text.matchAll(/\b(?:services|libs|tools|tests|deploy)(?:\/[\w-]+)+\/dist\/[\w/-]+\.js\b/g)].map(([path]) => ({
      file,
      path,
    })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('commands for a running system work on this one and print no password', async () => {
  const system = sharedSystem();
  const state = process.env['GATEWAY_E2E_STATE'] ?? '';
  const { account } = await system.operator.account('3.00');
  const access = ['--url', system.operatorUrl, '--token', system.operatorToken];
  const answers = await Promise.all([
    run('doctor', []),
    run('permissions', ['nats']),
    run('permissions', ['redis']),
    run('operator', ['GET', `/accounts/${account}/wallet`, ...access]),
    run('operator', ['GET', '/sources/health', ...access]),
    run('ledger', ['--state', state]),
    run('bus:tail', ['--state', state, '--seconds', '1'], 'tools/local'),
    run('reset', ['--state', state]),
  ]);
  expect(answers.map(({ code, output }) => [code, output])).toEqual([
    [0, expect.stringContaining('postgres')],
    [0, expect.stringContaining('GATEWAY_BUS_PASSWORD_BILLING')],
    [0, expect.stringContaining('admission')],
    [0, expect.stringContaining('"3.00"')],
    [0, expect.anything()],
    [0, expect.stringContaining('wallet')],
    [0, expect.anything()],
    // reset deletes nothing while the system runs.
    [1, expect.stringContaining('stop it first')],
  ]);
  const passwords = [system.natsUrl, system.redisUrl, system.postgresUrl].map((url) => new URL(url).password);
  for (const { output } of answers) for (const password of passwords) expect(output).not.toContain(password);
}, 60_000);

function placeOf(command: string): Place | undefined {
  const begun = [...PLACES.keys()].filter((start) => {
    const isWhole = !/\w$/.test(start) || !/^[\w:-]/.test(command.slice(start.length));
    return command.startsWith(start) && isWhole;
  });
  const longest = begun.sort((one, other) => other.length - one.length)[0];
  return longest === undefined ? undefined : PLACES.get(longest);
}

function scriptOf(room: string, script: string): string | undefined {
  const file = join(ROOT, room, 'package.json');
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> }).scripts?.[script];
}

/** Runs the program of an npm script without compiling first. */
async function run(
  script: string,
  args: readonly string[],
  room = '.',
): Promise<{ code: number | null; output: string }> {
  const [, program = '', words = ''] = /(?:^|&& )node (\S+\.\w+)((?: \w+)*)$/.exec(scriptOf(room, script) ?? '') ?? [];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GATEWAY_')));
  const child = spawn(process.execPath, [join(ROOT, program), ...words.split(' ').filter(Boolean), ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, output };
}
