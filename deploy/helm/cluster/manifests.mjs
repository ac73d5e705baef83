// Objects outside the chart: Secrets, one pod for each server, the simulator, the load.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { composeSecrets, makeRoot } from '../../../tools/operations/dist/compose-secrets.js';
import { here, settings } from './settings.mjs';

/**
 * Keys of each program's Secret with the compose secret file of the value. The servers have the
 * same names as in compose.
 */
const PROGRAMS = {
  'edge-proxy': { NATS_URL: 'edge-proxy-nats-url', KEY_PEPPER: 'key-pepper', SOURCE_PRIVATE_KEY: 'source-private-key' },
  admission: { NATS_URL: 'admission-nats-url', REDIS_URL: 'redis-url' },
  billing: {
    NATS_URL: 'billing-nats-url',
    POSTGRES_URL: 'billing-postgres-url',
    WEBHOOK_PRIVATE_KEY: 'webhook-private-key',
  },
  catalog: { NATS_URL: 'catalog-nats-url', POSTGRES_URL: 'catalog-postgres-url' },
  accounts: { NATS_URL: 'accounts-nats-url', POSTGRES_URL: 'accounts-postgres-url' },
  dashboard: {
    NATS_URL: 'dashboard-nats-url',
    KEY_PEPPER: 'key-pepper',
    SOURCE_PUBLIC_KEY: 'source-public-key',
    WEBHOOK_PUBLIC_KEY: 'webhook-public-key',
    SESSION_SECRET: 'session-secret',
    OPERATOR_TOKEN: 'operator-token',
  },
  migrate: {
    MIGRATION_URL: 'migration-url',
    BILLING_POSTGRES_URL: 'billing-postgres-url',
    ACCOUNTS_POSTGRES_URL: 'accounts-postgres-url',
    CATALOG_POSTGRES_URL: 'catalog-postgres-url',
    FINANCE_PASSWORD: 'finance-password',
  },
};
const OF_SERVERS = ['postgres-password', 'nats-authorization.conf', 'redis-users.acl'];

/** Creates new secrets for one run: Kubernetes Secrets, and the operators' token. */
export function secretsOf() {
  const files = composeSecrets(makeRoot());
  const programs = Object.entries(PROGRAMS).map(([name, keys]) =>
    secret(
      `gateway-${name}`,
      Object.entries(keys).map(([key, file]) => [`GATEWAY_${key}`, files[file]]),
    ),
  );
  const servers = secret(
    'servers',
    OF_SERVERS.map((file) => [file, files[file]]),
  );
  return { manifests: [...programs, servers], operatorToken: files['operator-token'] };
}

/** Returns PostgreSQL, NATS, Redis and the simulator for the node that is never drained. */
export function serversOf(node) {
  const text = readFileSync(here('servers.yaml'), 'utf8')
    .replaceAll('$NODE', node)
    .replace('$POSTGRES_IMAGE', settings.serverImages.postgres)
    .replace('$NATS_IMAGE', settings.serverImages.nats)
    .replace('$REDIS_IMAGE', settings.serverImages.redis)
    .replace('$SIMULATOR_IMAGE', settings.imageOf('demo'));
  return parseAllDocuments(text).map((document) => document.toJS());
}

/** Returns a pod that runs load.mjs with the Node of a project image. */
export function loadPod(node, key) {
  const container = {
    name: 'load',
    image: settings.imageOf('operate'),
    command: ['node', '/load/load.mjs'],
    env: [
      { name: 'EDGE_URL', value: `http://${settings.release}-model-gateway-edge-proxy:8080` },
      { name: 'API_KEY', valueFrom: { secretKeyRef: { name: 'load', key: 'key' } } },
    ],
    volumeMounts: [{ name: 'load', mountPath: '/load' }],
  };
  const data = { 'load.mjs': readFileSync(here('load.mjs'), 'utf8') };
  return [
    secret('load', [['key', key]]),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'load' }, data },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'load', labels: { app: 'load' } },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node },
        restartPolicy: 'Never',
        containers: [container],
        volumes: [{ name: 'load', configMap: { name: 'load' } }],
      },
    },
  ];
}

function secret(name, entries) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: Object.fromEntries(entries) };
}
