import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A variable that a person may set and that no schema describes. */
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
    doc: 'program with which pages are tested and pictures taken',
    readBy: '`npm test`, `npm run pictures`',
  },
  {
    name: 'GATEWAY_LISTEN',
    or: '`127.0.0.1`',
    doc: 'address on which port 8080 of the gateway is published; nothing else is published on it',
    readBy: '`docker-compose.yml`',
  },
  {
    name: 'GATEWAY_NATS_BINARY',
    or: 'PATH and the usual places',
    doc: 'NATS program that is started where no URL is set',
    readBy: START,
  },
  {
    name: 'GATEWAY_OPERATOR_TOKEN',
    or: 'that of the local start',
    doc: 'token of an operator, or `GATEWAY_OPERATOR_TOKEN_FILE` its file; `--token-file` and `--token` count before it',
    readBy: '`npm run operator`',
  },
  {
    name: 'GATEWAY_OPERATOR_URL',
    or: 'that of the local start',
    doc: 'address of the operator API, with or without `/operator/v1`; `--url` counts before it',
    readBy: '`npm run operator`',
  },
  {
    name: 'GATEWAY_POSTGRES_BINARY',
    or: 'PATH and the usual places',
    doc: 'PostgreSQL program that is started where no URL is set; `pg_dump` and `pg_restore` are looked for beside it first',
    readBy: `${START}, \`npm run backup\`, \`npm run restore\``,
  },
  {
    name: 'GATEWAY_REDIS_BINARY',
    or: 'PATH and the usual places',
    doc: 'Redis program that is started where no URL is set',
    readBy: START,
  },
  {
    name: 'GATEWAY_SERVERS_RUNGS',
    or: 'all',
    doc: 'ways to a server that may be taken: `url`, `binary`, `project`, `docker`, separated by commas',
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
    doc: 'ports of both listeners, separated by a comma; 0 takes a free one',
    readBy: SIMULATOR,
  },
  {
    name: 'GATEWAY_SIMULATOR_RECORD',
    or: '`on`',
    doc: 'keeps the calls that came, for `GET /__calls`',
    readBy: SIMULATOR,
  },
];

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Programs that read such variables. What only tests and measurements read is in their rooms. */
const READERS = [
  'libs/servers/src',
  'libs/provider-simulator/src',
  'services/dashboard/src/operator-cli',
  'services/dashboard/web/fixtures/src',
  'deploy/setup/src',
];

/**
 * The names in quotes in those programs, and those that docker-compose.yml takes from its caller.
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
