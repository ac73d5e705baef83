import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A variable for people that no schema describes. */
export interface OtherVariable {
  readonly name: string;
  /** The default as the table shows it. */
  readonly or: string;
  readonly doc: string;
  readonly readBy: string;
}

const START = '`npm start`, `npm test`, `npm run doctor`';
const SIMULATOR = 'provider-simulator';

export const OTHER_VARIABLES: readonly OtherVariable[] = [
  {
    name: 'GATEWAY_CHROMIUM',
    or: 'the usual places',
    doc: 'Chromium program for page tests and screenshots',
    readBy: '`npm test`, `npm run pictures -w services/dashboard/web`',
  },
  {
    name: 'GATEWAY_LISTEN',
    or: '`127.0.0.1:8080`',
    doc: 'address and port of the host on which the gateway is published; `.env` has the other settings',
    readBy: '`docker-compose.yml`',
  },
  {
    name: 'GATEWAY_NATS_BINARY',
    or: 'PATH and the usual places',
    doc: 'NATS program to start if no URL is set',
    readBy: START,
  },
  {
    name: 'GATEWAY_OPERATOR_TOKEN',
    or: 'that of the local start',
    doc: 'token of an operator, or `GATEWAY_OPERATOR_TOKEN_FILE` for its file; `--token-file` and `--token` take precedence',
    readBy: '`npm run operator`',
  },
  {
    name: 'GATEWAY_OPERATOR_URL',
    or: 'that of the local start',
    doc: 'address of the operator API, with or without `/operator/v1`; `--url` takes precedence',
    readBy: '`npm run operator`',
  },
  {
    name: 'GATEWAY_POSTGRES_BINARY',
    or: 'PATH and the usual places',
    doc: 'PostgreSQL program to start if no URL is set; its directory is searched first for `pg_dump` and `pg_restore`',
    readBy: `${START}, \`npm run backup\`, \`npm run restore\``,
  },
  {
    name: 'GATEWAY_REDIS_BINARY',
    or: 'PATH and the usual places',
    doc: 'Redis program to start if no URL is set',
    readBy: START,
  },
  {
    name: 'GATEWAY_SERVER_SOURCES',
    or: 'all',
    doc: 'permitted ways to find or start a server: `url`, `binary`, `project`, `docker`, separated by commas',
    readBy: START,
  },
  {
    name: 'GATEWAY_SIMULATOR_CHUNK_DELAY_MS',
    or: '`0`',
    doc: 'time between the events of a default stream',
    readBy: SIMULATOR,
  },
  { name: 'GATEWAY_SIMULATOR_HOST', or: '`127.0.0.1`', doc: 'address of both listeners', readBy: SIMULATOR },
  {
    name: 'GATEWAY_SIMULATOR_PORTS',
    or: '`0,0`',
    doc: 'ports of both listeners, separated by a comma; 0 selects a free one',
    readBy: SIMULATOR,
  },
];

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/**
 * Programs that read such variables. Variables of tests and benchmarks are described in their
 * packages.
 */
const READERS = [
  'tools/servers/src',
  'tools/provider-simulator/src',
  'services/dashboard/src/operator-cli',
  'services/dashboard/web/fixtures/src',
  'tools/operations/src',
];

/**
 * Returns the quoted names in those programs, and the names that docker-compose.yml reads from its
 * caller.
 */
export function variablesRead(): string[] {
  const sources = READERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
  );
  const quoted = sources.flatMap((text) => [...text.matchAll(/'(GATEWAY_[A-Z_]+[A-Z])'/g)]);
  const compose = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8').matchAll(/\$\{(GATEWAY_[A-Z_]+)/g);
  return [...new Set([...quoted, ...compose].map(([, name = '']) => name))];
}
