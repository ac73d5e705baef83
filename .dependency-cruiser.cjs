const { existsSync } = process.getBuiltinModule('node:fs');

/**
 * The import rules of the architecture, checked by `npm run lint`. A test plants violations of
 * each rule. Tests and test support may import more than the tested code.
 */
const test = '(\\.test\\.ts$|/test/|/verify/)';

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
 * Further imports of a feature within its service. A line may not name a line below it, so that
 * there is no cycle. Other features are combined only in `service.ts`.
 */
const FEATURE_IMPORTS = {
  'billing/src/alerts': ['plans', 'webhooks'],
  'billing/src/subscriptions': ['plans'],
  'billing/src/recovery': ['stream'],
  'billing/src/usage': ['records', 'alerts', 'stream'],
  'billing/src/dead-letters': ['usage'],
  'billing/src/exports': ['records'],
  'billing/src/accounts': ['subscriptions', 'stream', 'webhooks'],
  'accounts/src/people': ['keys', 'mail'],
  'accounts/src/accounts': ['keys', 'people'],
  'accounts/src/sign-in': ['accounts', 'mail'],
  'accounts/src/cleanup': ['operators', 'sign-in'],
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

/** A rule: files of `from` may not import files of `to`. Paths are regular expressions. */
const forbid = (name, from, to, comment) => ({ name, severity: 'error', comment, from, to });
/** Paths of code without its tests, and paths other than these. */
const code = (path, ...pathNot) => ({ path, pathNot: [test, ...pathNot] });
const except = (...pathNot) => ({ pathNot });

/** A misspelled folder would match no file, and its rule or exception would never apply. */
const filesOf = (folder) => {
  if (!existsSync(`${__dirname}/services/${folder}`)) throw new Error(`there is no folder services/${folder}`);
  return `^services/${folder}/`;
};

const featureRule = ([folder, names], index, all) => {
  const below = all.slice(index).map(([path]) => path);
  const allowed = names.map((name) => folder.replace(/[^/]+$/, name));
  for (const path of allowed) if (below.includes(path)) throw new Error(`${folder} imports ${path}, which is below`);
  const permitted = [folder, ...BASE_FOLDERS, ...allowed].map(filesOf);
  return forbid('features-meet-in-service', code(filesOf(folder)), { path: '^services/', pathNot: permitted });
};

/** Pure modules of service-kit, which as a whole is not pure. */
const PURE_OF_KIT = '^libs/service-kit/src/(network-address|group-by)\\.ts$';
/** Imports permitted in decisions, in addition to each other. */
const PURE = ['^libs/(metering|contracts)/', PURE_OF_KIT, '^(node:)?(buffer|util)$'];

const typesMayPass = { dependencyTypesNot: ['type-only'] };

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    forbid('no-cycles', {}, { circular: true }, 'A cycle has no starting point for a reader. Types are included.'),
    forbid(
      'services-never-import-each-other',
      { path: '^services/([^/]+)/' },
      { path: '^services/([^/]+)/', pathNot: '^services/$1/' },
      'Services communicate only over the bus.',
    ),
    forbid(
      'only-simulation-and-benchmarks-import-services',
      except('^services/', '^tests/(simulation|benchmarks)/', test),
      { path: '^services/[^/]+/src/', pathNot: '^services/dashboard/src/operator-cli/' },
      'They run parts of the services without their connections. The local start adds providers as operators do.',
    ),
    forbid('libs-import-only-libs', code('^libs/'), { path: '^(services|deploy|tools|tests)/' }),
    forbid('services-import-only-libs', code('^services/'), { path: '^(deploy|tools|tests)/' }),
    forbid('metering-imports-nothing', code('^libs/metering/src/'), except('^libs/metering/src/')),
    forbid(
      'contracts-import-no-io',
      code('^libs/contracts/src/'),
      except('^libs/(contracts|metering)/', 'node_modules/zod/', '^(node:)?(crypto|zlib)$'),
      'contracts use only hashing, random IDs and checksums of Node.',
    ),
    forbid(
      'edge-rules-are-pure',
      code(EDGE_RULES),
      except(EDGE_RULES, ...PURE),
      'A decision is a function of facts, request and now. Bytes, deep equality and address ranges are not I/O.',
    ),
    forbid(
      'edge-handles-requests-through-ports',
      code('^services/edge-proxy/src/', EDGE_IO, '^services/edge-proxy/src/(service\\.ts|commands/)'),
      { path: EDGE_IO, ...typesMayPass },
      'Only the files that put the edge together, and its commands, import what reaches sources or the bus.',
    ),
    forbid('edge-connections-import-no-steps', code(EDGE_IO), {
      path: '^services/edge-proxy/src/',
      pathNot: [EDGE_IO, EDGE_RULES, '^services/edge-proxy/src/(ports|config|credentials/credential-text)\\.ts$'],
    }),
    forbid(
      'admission-decides-through-ports',
      code('^services/admission/src/', ADMISSION_IO, '^services/admission/src/(service\\.ts|commands/)'),
      { path: [ADMISSION_IO, '^libs/bus/', 'node_modules/ioredis/'], ...typesMayPass },
      'Only the files that put admission together, and its commands, import what reaches Redis or the bus.',
    ),
    forbid(
      'rules-are-pure',
      code(`${featureService}.*${RULES}`),
      except(`^services/$1/src/.*${RULES}`, ...PURE),
      'A decision is a function of its input, request and time. It may use types of other rules.',
    ),
    forbid('only-stores-see-a-database', code(featureService, STORES, composing), {
      path: ['^libs/postgres/', 'node_modules/(pg|knex)/'],
    }),
    forbid(
      'verbs-see-types-of-stores',
      code(featureService, STORES, composing),
      { path: `^services/$1/src/.*${STORES}`, ...typesMayPass },
      'Only code that composes a service creates stores.',
    ),
    forbid('stores-see-no-verbs', code(`${separateFeatures}.*${STORES}`), {
      path: '^services/$1/src/',
      pathNot: [STORES, RULES],
    }),
    forbid(
      'features-meet-in-service',
      code(`${separateFeatures}([^/]+)/`, composing, ...Object.keys(FEATURE_IMPORTS).map(filesOf)),
      {
        path: '^services/',
        pathNot: ['^services/$1/src/$2/', ...BASE_FOLDERS.map(filesOf)],
      },
      'FEATURE_IMPORTS lists the exceptions.',
    ),
    ...Object.entries(FEATURE_IMPORTS).map(featureRule),
    forbid(
      'http-knows-no-api',
      code('^services/dashboard/src/http/'),
      { path: '^services/dashboard/src/(operator-api|people-api)/' },
      'The HTTP layer serves both APIs of the dashboard.',
    ),
    forbid(
      'operator-api-knows-no-people-api',
      code('^services/dashboard/src/operator-api/'),
      { path: '^services/dashboard/src/people-api/' },
      'The API of the pages is built on routes of the operator API.',
    ),
    forbid('one-importer-of-nats', except('^(libs/bus|tools/(servers|testkit))/', test), {
      path: 'node_modules/nats/',
    }),
    forbid('one-importer-of-knex', except('^libs/postgres/', test), { path: 'node_modules/knex/' }),
    forbid('redis-is-admissions', code('^(libs|services)/', '^services/admission/'), { path: 'node_modules/ioredis/' }),
    forbid('edge-and-admission-touch-no-postgres', code('^services/(edge-proxy|admission|dashboard)/'), {
      path: ['^libs/postgres/', 'node_modules/pg/'],
    }),
    forbid('telemetry-sdk-only-in-service-kit', except('^libs/service-kit/', test, '^(deploy|tools|tests)/'), {
      path: 'node_modules/@opentelemetry/(?!api/)',
    }),
    forbid('no-unresolved', {}, { couldNotResolve: true }),
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
