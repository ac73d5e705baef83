// The cluster and the images that the environment names.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const env = process.env;

/** Returns a path next to this file. */
export const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const registry = env['GATEWAY_CLUSTER_REGISTRY'] ?? '';
const repository = env['GATEWAY_CLUSTER_REPOSITORY'] ?? 'gateway';
const tag = env['GATEWAY_CLUSTER_TAG'] ?? '0.1.0';

export const settings = {
  namespace: env['GATEWAY_CLUSTER_NAMESPACE'] ?? 'gateway-check',
  release: 'gw',
  keep: process.argv.includes('--keep'),
  image: [
    '--set',
    `image.registry=${registry}`,
    '--set',
    `image.repository=${repository}`,
    '--set',
    `image.tag=${tag}`,
  ],
  imageOf: (program) => `${registry}/${repository}/${program}:${tag}`,
  serverImages: {
    postgres: env['GATEWAY_CLUSTER_POSTGRES_IMAGE'] ?? 'docker.io/library/postgres:18-alpine',
    nats: env['GATEWAY_CLUSTER_NATS_IMAGE'] ?? 'docker.io/library/nats:2.12-alpine',
    redis: env['GATEWAY_CLUSTER_REDIS_IMAGE'] ?? 'docker.io/library/redis:7.4-alpine',
  },
};

/** Returns the missing requirement, or null. */
export function missing() {
  if (env['KUBECONFIG'] === undefined) return 'KUBECONFIG names no cluster (one for tests: its nodes are drained)';
  if (registry === '') return 'GATEWAY_CLUSTER_REGISTRY names no registry that holds the images';
  if (!existsSync(here('../../../tools/operations/dist/secrets/make-secrets-rules.js')))
    return 'the checkout is not compiled (npx tsc -b tools/operations)';
  for (const [tool, ...question] of [
    ['kubectl', 'get', 'nodes'],
    ['helm', 'version'],
  ]) {
    const { status, error, stderr } = spawnSync(tool, question, { encoding: 'utf8' });
    if (status !== 0) return `${tool} ${question.join(' ')}: ${error?.message ?? stderr.trim()}`;
  }
  return null;
}
