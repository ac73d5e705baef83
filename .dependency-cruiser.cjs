/**
 * The import rules of the architecture, checked by `npm run rules`. A test plants violations of
 * each rule. Tests and test support may import more than the tested code.
 */
const test = '(\\.test\\.ts$|/test/|/prove/)';

/** Services with one folder per feature, `src/<feature>/`. */
const FEATURE_SERVICES = ['billing', 'accounts', 'catalog', 'admission'];
/** Folders that every feature of their service may import. They import no feature. */
const BASE_FOLDERS = [
  'billing/src/ledger',
  'accounts/src/base',
  'catalog/src/objects',
  'catalog/src/profiles',
  'catalog/src/storage',
];
/**
 * Further imports of a feature within its service. Each line may only name lines above it, so that
 * there is no cycle. Other features are combined only in `service.ts`.
 */
const FEATURE_IMPORTS = {
  'billing/src/records': [],
  'billing/src/plans': [],
  'billing/src/webhooks': [],
  'billing/src/alerts': ['plans', 'webhooks'],
  'billing/src/subscriptions': ['plans'],
  'billing/src/stream': [],
  'billing/src/recovery': ['stream'],
  'billing/src/usage': ['records', 'alerts', 'stream'],
  'billing/src/dead-letters': ['usage'],
  'billing/src/exports': ['records'],
  'billing/src/accounts': ['subscriptions', 'stream', 'webhooks'],
  'accounts/src/keys': [],
  'accounts/src/mail': [],
  'accounts/src/operators': [],
  'accounts/src/people': ['keys', 'mail'],
  'accounts/src/accounts': ['keys', 'people'],
  'accounts/src/sign-in': ['accounts', 'mail'],
  'accounts/src/cleanup': ['operators', 'sign-in'],
  'catalog/src/providers': [],
  'catalog/src/models': [],
  'catalog/src/aliases': [],
  'catalog/src/sources': [],
  'catalog/src/documents': ['providers', 'models', 'sources', 'aliases'],
};
const featureService = `^services/(${FEATURE_SERVICES.join('|')})/src/`;
/** Admission's features share the limit store and its ports, so that they import each other. */
const separateFeatures = `^services/(${FEATURE_SERVICES.filter((name) => name !== 'admission').join('|')})/src/`;
/** Files of admission that reach Redis or the bus. */
const ADMISSION_IO = '^services/admission/src/(bus/|limit-store/redis-|back-pressure/store-watch)';
/** Files of the edge that only decide. */
const EDGE_RULES =
  '^services/edge-proxy/src/((errors|formats|json|pricing|sources)/|parse/(?!body-parser|parse-thread)|stored-ids/answer-names)';
/** Files of the edge that reach sources or the bus, or run threads. */
const EDGE_IO = '^services/edge-proxy/src/(upstream/|bus/|credentials/token-http|parse/(body-parser|parse-thread))';
/** Code that composes a service: the files at the top of `src`, and programs. */
const composing = `${featureService}([^/]+\\.ts$|commands/)`;
/**
 * `rules.ts`, `wallet-rules.ts`: pure. `store.ts`, `plan-store.ts`, `sql.ts`, `record-sql.ts`:
 * database access.
 */
const RULES = '/(rules|[a-z0-9-]+-(rules|script))\\.ts$';
const STORES = '/(store|sql|[a-z0-9-]+-(store|sql))\\.ts$';

const featureRule = ([folder, names], index, all) => {
  const above = all.slice(0, index).map(([before]) => before);
  const allowed = names.map((name) => folder.replace(/[^/]+$/, name));
  for (const path of allowed)
    if (!above.includes(path)) throw new Error(`${folder} imports ${path}, which is not above`);
  return {
    name: 'features-meet-in-service',
    severity: 'error',
    from: { path: `^services/${folder}/`, pathNot: test },
    to: { path: '^services/', pathNot: [folder, ...BASE_FOLDERS, ...allowed].map((path) => `^services/${path}/`) },
  };
};

/** Pure modules of service-kit, which as a whole is not pure. */
const PURE_OF_KIT = '^libs/service-kit/src/(network-address|group-by)\\.ts$';
/** Imports permitted in decisions, in addition to each other. */
const PURE = ['^libs/(metering|contracts)/', PURE_OF_KIT, '^(node:)?(buffer|util)$'];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'A cycle has no starting point for a reader. Types are included.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'services-never-import-each-other',
      severity: 'error',
      comment: 'Services communicate only over the bus.',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/([^/]+)/', pathNot: '^services/$1/' },
    },
    {
      name: 'only-simulation-and-benchmarks-import-services',
      severity: 'error',
      comment:
        'They run parts of the services without their connections. The local start adds providers as operators do.',
      from: { pathNot: ['^services/', '^tests/(simulation|benchmarks)/', test] },
      to: { path: '^services/[^/]+/src/', pathNot: '^services/dashboard/src/operator-cli/' },
    },
    {
      name: 'libs-import-only-libs',
      severity: 'error',
      from: { path: '^libs/', pathNot: test },
      to: { path: '^(services|deploy|tools|tests)/' },
    },
    {
      name: 'services-import-only-libs',
      severity: 'error',
      from: { path: '^services/', pathNot: test },
      to: { path: '^(deploy|tools|tests)/' },
    },
    {
      name: 'metering-imports-nothing',
      severity: 'error',
      from: { path: '^libs/metering/src/', pathNot: test },
      to: { pathNot: '^libs/metering/src/' },
    },
    {
      name: 'contracts-import-no-io',
      severity: 'error',
      comment: 'contracts use only hashing, random IDs and checksums of Node.',
      from: { path: '^libs/contracts/src/', pathNot: test },
      to: { pathNot: ['^libs/(contracts|metering)/', 'node_modules/zod/', '^(node:)?(crypto|zlib)$'] },
    },
    {
      name: 'edge-rules-are-pure',
      severity: 'error',
      comment:
        'A decision is a function of facts, request and now. Bytes, deep equality and address ranges are not I/O.',
      from: { path: EDGE_RULES, pathNot: test },
      to: { pathNot: [EDGE_RULES, ...PURE] },
    },
    {
      name: 'edge-handles-requests-through-ports',
      severity: 'error',
      comment: 'Only the files that put the edge together, and its commands, import what reaches sources or the bus.',
      from: {
        path: '^services/edge-proxy/src/',
        pathNot: [test, EDGE_IO, '^services/edge-proxy/src/(service\\.ts|commands/)'],
      },
      to: { path: EDGE_IO, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'edge-connections-import-no-steps',
      severity: 'error',
      from: { path: EDGE_IO, pathNot: test },
      to: {
        path: '^services/edge-proxy/src/',
        pathNot: [EDGE_IO, EDGE_RULES, '^services/edge-proxy/src/(ports|config|credentials/credential-text)\\.ts$'],
      },
    },
    {
      name: 'admission-decides-through-ports',
      severity: 'error',
      comment: 'Only the files that put admission together, and its commands, import what reaches Redis or the bus.',
      from: {
        path: '^services/admission/src/',
        pathNot: [test, ADMISSION_IO, '^services/admission/src/(service\\.ts|commands/)'],
      },
      to: { path: [ADMISSION_IO, '^libs/bus/', 'node_modules/ioredis/'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'rules-are-pure',
      severity: 'error',
      comment: 'A decision is a function of its input, request and time. It may use types of other rules.',
      from: { path: `${featureService}.*${RULES}`, pathNot: test },
      to: {
        pathNot: [`^services/$1/src/.*${RULES}`, ...PURE],
      },
    },
    {
      name: 'only-stores-see-a-database',
      severity: 'error',
      from: { path: featureService, pathNot: [test, STORES, composing] },
      to: { path: ['^libs/postgres/', 'node_modules/(pg|knex)/'] },
    },
    {
      name: 'verbs-see-types-of-stores',
      severity: 'error',
      comment: 'Only code that composes a service creates stores.',
      from: { path: featureService, pathNot: [test, STORES, composing] },
      to: { path: `^services/$1/src/.*${STORES}`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'stores-see-no-verbs',
      severity: 'error',
      from: { path: `${separateFeatures}.*${STORES}`, pathNot: test },
      to: { path: '^services/$1/src/', pathNot: [STORES, RULES] },
    },
    {
      name: 'features-meet-in-service',
      severity: 'error',
      comment: 'FEATURE_IMPORTS lists the exceptions.',
      from: {
        path: `${separateFeatures}([^/]+)/`,
        pathNot: [test, composing, ...Object.keys(FEATURE_IMPORTS).map((path) => `^services/${path}/`)],
      },
      to: {
        path: '^services/',
        pathNot: ['^services/$1/src/$2/', ...BASE_FOLDERS.map((path) => `^services/${path}/`)],
      },
    },
    ...Object.entries(FEATURE_IMPORTS).map(featureRule),
    {
      name: 'http-knows-no-api',
      severity: 'error',
      comment: 'The HTTP layer serves both APIs of the dashboard.',
      from: { path: '^services/dashboard/src/http/', pathNot: test },
      to: { path: '^services/dashboard/src/(operator-api|people-api)/' },
    },
    {
      name: 'operator-api-knows-no-people-api',
      severity: 'error',
      comment: 'The API of the pages is built on routes of the operator API.',
      from: { path: '^services/dashboard/src/operator-api/', pathNot: test },
      to: { path: '^services/dashboard/src/people-api/' },
    },
    {
      name: 'one-importer-of-nats',
      severity: 'error',
      from: { pathNot: ['^(libs/bus|tools/testkit)/', test] },
      to: { path: 'node_modules/nats/' },
    },
    {
      name: 'one-importer-of-knex',
      severity: 'error',
      from: { pathNot: ['^libs/postgres/', test] },
      to: { path: 'node_modules/knex/' },
    },
    {
      name: 'redis-is-admissions',
      severity: 'error',
      from: { path: '^(libs|services)/', pathNot: [test, '^services/admission/'] },
      to: { path: 'node_modules/ioredis/' },
    },
    {
      name: 'edge-and-admission-touch-no-postgres',
      severity: 'error',
      from: { path: '^services/(edge-proxy|admission|dashboard)/', pathNot: test },
      to: { path: ['^libs/postgres/', 'node_modules/pg/'] },
    },
    {
      name: 'telemetry-sdk-only-in-service-kit',
      severity: 'error',
      from: { pathNot: ['^libs/service-kit/', test, '^(deploy|tools|tests)/'] },
      to: { path: 'node_modules/@opentelemetry/(?!api/)' },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(/dist/|/generated/|^(deploy|tools|tests)/.*\\.mjs$)' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
    },
  },
};
