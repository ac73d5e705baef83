// Objects outside the chart: Secrets, one pod for each server, the simulator, the load.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { secretManifests } from '../../../tools/operations/dist/secrets/kubernetes-rules.js';
import { makeSecrets } from '../../../tools/operations/dist/secrets/make-secrets-rules.js';
import { here, settings } from './settings.mjs';

const URLS = {
  postgres: 'postgres://postgres:5432/gateway',
  nats: 'nats://nats:4222',
  redis: 'redis://redis:6379',
};

/** Creates new secrets for one run: the namespace with its Secrets, and the operators' token. */
export function secretsOf() {
  const { secrets } = makeSecrets({}, { urls: URLS, random: randomBytes });
  const operatorToken = secrets.operator.GATEWAY_OPERATOR_TOKEN;
  return { manifests: secretManifests(settings.namespace, secrets), operatorToken };
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
