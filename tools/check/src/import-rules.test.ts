import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Targets of the planted imports. The rules read paths only, so empty files are enough. */
const TARGETS = [
  'services/admission/src/main.ts',
  'services/edge-proxy/src/bus/bus-client.ts',
  'services/edge-proxy/src/call/verb.ts',
  'services/billing/src/ledger/store.ts',
  'services/billing/src/records/rules.ts',
  'services/billing/src/records/verb.ts',
  'services/accounts/src/base/store.ts',
  'services/accounts/src/keys/rules.ts',
  'services/accounts/src/sign-in/verb.ts',
  'services/catalog/src/models/put-model.ts',
  'services/dashboard/src/operator-api/route.ts',
  'services/dashboard/src/people-api/route.ts',
  'services/catalog/src/storage/store.ts',
  'tools/local/src/index.ts',
];
const PACKAGES = ['libs/bus', 'libs/postgres', 'tools/servers', 'tools/testkit'];

const VIOLATIONS = [
  ['services/edge-proxy/src/formats/a.ts', "import 'node:fs';", 'edge-rules-are-pure'],
  ['services/admission/src/sweep/sweep-script.ts', "import 'node:fs';", 'rules-are-pure'],
  ['services/admission/src/sweep/aa.ts', "import '@gateway/bus';", 'admission-decides-through-ports'],
  ['services/billing/src/settle/b.ts', "import 'nats';", 'one-importer-of-nats'],
  ['services/billing/src/c.ts', "import '../../admission/src/main.js';", 'services-never-import-each-other'],
  ['services/edge-proxy/src/call/d.ts', "import 'ioredis';", 'redis-is-admissions'],
  ['services/admission/src/admit/e.ts', "import '@gateway/postgres';", 'edge-and-admission-touch-no-postgres'],
  ['services/admission/src/admit/f.ts', "import '@gateway/servers';", 'services-import-only-libs'],
  ['services/edge-proxy/src/call/g.ts', "import '../bus/bus-client.js';", 'edge-handles-requests-through-ports'],
  ['libs/metering/src/h.ts', "import 'node:fs';", 'metering-imports-nothing'],
  ['libs/contracts/src/i.ts', "import 'node:http';", 'contracts-import-no-io'],
  ['services/billing/src/settle/j.ts', "import '@gateway/testkit';", 'services-import-only-libs'],
  ['libs/bus/src/k.ts', "import '../../../services/admission/src/main.js';", 'libs-import-only-libs'],
  ['services/billing/src/l.ts', "import '../../../tools/local/src/index.js';", 'services-import-only-libs'],
  ['services/edge-proxy/src/upstream/m.ts', "import '../call/verb.js';", 'edge-connections-import-no-steps'],
  ['services/billing/src/adapters/n.ts', "import 'knex';", 'one-importer-of-knex'],
  ['services/billing/src/o.ts', "import '@opentelemetry/sdk-node';", 'telemetry-sdk-only-in-service-kit'],
  [
    'tools/local/src/s.ts',
    "import '../../../services/billing/src/ledger/store.js';",
    'only-simulation-and-benchmarks-import-services',
  ],
  ['services/billing/src/wallets/rules.ts', "import 'node:fs';", 'rules-are-pure'],
  ['services/billing/src/wallets/money-rules.ts', "import type {} from '../ledger/store.js';", 'rules-are-pure'],
  ['services/billing/src/wallets/t.ts', "import type {} from '@gateway/postgres';", 'only-stores-see-a-database'],
  ['services/billing/src/wallets/u.ts', "import '../ledger/store.js';", 'verbs-see-types-of-stores'],
  ['services/billing/src/records/v-store.ts', "import type {} from './verb.js';", 'stores-see-no-verbs'],
  ['services/billing/src/wallets/w.ts', "import '../records/rules.js';", 'features-meet-in-service'],
  ['services/billing/src/ledger/x.ts', "import '../records/rules.js';", 'features-meet-in-service'],
  ['services/billing/src/alerts/y.ts', "import '../records/rules.js';", 'features-meet-in-service'],
  ['services/accounts/src/base/aa.ts', "import '../keys/rules.js';", 'features-meet-in-service'],
  ['services/accounts/src/mail/ab.ts', "import '../keys/rules.js';", 'features-meet-in-service'],
  ['services/accounts/src/audit/ac.ts', "import type {} from '../keys/rules.js';", 'features-meet-in-service'],
  ['services/accounts/src/keys/ad-store.ts', "import type {} from '../sign-in/verb.js';", 'stores-see-no-verbs'],
  ['services/accounts/src/keys/ae.ts', "import '../base/store.js';", 'verbs-see-types-of-stores'],
  ['services/catalog/src/objects/af.ts', "import '../models/put-model.js';", 'features-meet-in-service'],
  ['services/catalog/src/sources/ag.ts', "import type {} from '../models/put-model.js';", 'features-meet-in-service'],
  ['services/catalog/src/health/ah.ts', "import '../models/put-model.js';", 'features-meet-in-service'],
  ['services/catalog/src/documents/ai.ts', "import '../storage/store.js';", 'verbs-see-types-of-stores'],
  ['services/catalog/src/models/aj.ts', "import '@gateway/postgres';", 'only-stores-see-a-database'],
  ['services/dashboard/src/http/ak.ts', "import '../operator-api/route.js';", 'http-knows-no-api'],
  ['services/dashboard/src/http/al.ts', "import type {} from '../people-api/route.js';", 'http-knows-no-api'],
  ['services/dashboard/src/operator-api/am.ts', "import '../people-api/route.js';", 'operator-api-knows-no-people-api'],
  ['services/billing/src/settle/p.ts', "import './nowhere.js';", 'no-unresolved'],
  ['services/admission/src/admit/q.ts', "import './r.js';", 'no-cycles'],
  ['services/billing/src/settle/q.ts', "import type {} from './r.js';", 'no-cycles'],
] as const;
/** The other halves of the cycles, which are reported once. */
const CYCLE_ENDS = [
  ['services/admission/src/admit/r.ts', "import './q.js';"],
  ['services/billing/src/settle/r.ts', "import type {} from './q.js';"],
] as const;
const LAWFUL = [
  ['services/billing/src/settle/lawful.ts', "import '@gateway/bus'; import type {} from '../ledger/store.js';"],
  [
    'services/billing/src/exports/lawful-store.ts',
    "import '@gateway/postgres'; import '../records/rules.js'; import '../ledger/store.js';",
  ],
  ['services/catalog/src/documents/lawful.ts', "import '../models/put-model.js';"],
  ['services/dashboard/src/people-api/lawful.ts', "import '../operator-api/route.js';"],
] as const;

let house: string;
let broken: ReadonlyMap<string, readonly string[]>;
beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'gateway-rules-'));
  build();
  for (const [file, text] of [...VIOLATIONS, ...CYCLE_ENDS, ...LAWFUL]) plant(file, text);
  broken = rulesBroken();
});
afterAll(() => rmSync(house, { recursive: true, force: true }));

test.each(VIOLATIONS)('%s with %s breaks the rule %s', (file, _text, rule) => {
  expect(broken.get(file) ?? []).toContain(rule);
});

test('every rule has a planted violation', () => {
  const { forbidden } = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
    forbidden: { name: string }[];
  };
  const planted = new Set<string>(VIOLATIONS.map(([, , rule]) => rule));
  expect(forbidden.map(({ name }) => name).filter((name) => !planted.has(name))).toEqual([]);
});

test.each([
  ["'billing/src/alerts': ['plans', 'webhooks']", 'webhooks', 'webhoks'],
  ["'billing/src/exports':", 'exports', 'exprots'],
  ["'accounts/src/base',", 'base', 'bass'],
])('a misspelled folder in %s stops the check', (line, folder, misspelled) => {
  const rules = readFileSync(join(root, '.dependency-cruiser.cjs'), 'utf8');
  const wrong = rules.replace(line, line.replace(folder, misspelled));
  expect(wrong).not.toBe(rules);
  const file = join(house, `${misspelled}.cjs`);
  writeFileSync(file, wrong);
  expect(() => createRequire(import.meta.url)(file) as unknown).toThrow(`there is no folder services/`);
});

test.each(LAWFUL)('%s with %s breaks no rule', (file, _text) => {
  expect(broken.get(file)).toBeUndefined();
});

/**
 * Builds a small repository with the same rules, outside the files of other tests and the compiler.
 */
function build(): void {
  for (const name of ['.dependency-cruiser.cjs', 'tsconfig.base.json', 'package.json']) {
    copyFileSync(join(root, name), join(house, name));
  }
  mkdirSync(join(house, 'node_modules/@gateway'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')).filter((entry) => entry !== '@gateway')) {
    symlinkSync(join(root, 'node_modules', name), join(house, 'node_modules', name));
  }
  for (const path of PACKAGES) {
    const name = path.split('/').at(-1) ?? '';
    plant(`${path}/src/index.ts`, 'export {};');
    plant(`${path}/package.json`, JSON.stringify({ name: `@gateway/${name}`, exports: './src/index.ts' }));
    symlinkSync(join(house, path), join(house, 'node_modules/@gateway', name));
  }
  for (const target of TARGETS) plant(target, 'export {};');
  // The rules name features that no planted import needs.
  for (const service of readdirSync(join(root, 'services')))
    for (const entry of readdirSync(join(root, 'services', service, 'src'), { withFileTypes: true }))
      if (entry.isDirectory()) mkdirSync(join(house, 'services', service, 'src', entry.name), { recursive: true });
}

function plant(file: string, text: string): void {
  mkdirSync(dirname(join(house, file)), { recursive: true });
  writeFileSync(join(house, file), `${text}\n`);
}

function rulesBroken(): Map<string, string[]> {
  const args = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'libs', 'services', 'tools'];
  const run = spawnSync(process.execPath, ['node_modules/dependency-cruiser/bin/dependency-cruise.mjs', ...args], {
    cwd: house,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { summary } = JSON.parse(run.stdout) as { summary: { violations: { from: string; rule: { name: string } }[] } };
  const byFile = new Map<string, string[]>();
  for (const { from, rule } of summary.violations) byFile.set(from, [...(byFile.get(from) ?? []), rule.name]);
  return byFile;
}
