import type { Secrets } from './make-secrets-rules.js';
import { CONSUMERS, type Consumer, type Server } from './table.js';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}
export interface SecretManifest extends Manifest {
  readonly type?: string;
  readonly stringData?: Readonly<Record<string, string>>;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}

const FULLNAME_CHARS_MAX = 30;
const CHART = 'model-gateway';
const LABELS = { 'app.kubernetes.io/part-of': CHART };
/** The Secret of a consumer; the values of the chart have these names as defaults. */
const secretName = (consumer: Consumer) => `gateway-${consumer}`;

/**
 * Returns the consumers of a cluster. PostgreSQL's own password is needed only for the server of
 * the chart's evaluation values, not if its address is given.
 */
export function clusterConsumers(isPostgresGiven: boolean): Consumer[] {
  return CONSUMERS.filter((name) => !['demo', 'grafana'].includes(name) && !(name === 'postgres' && isPostgresGiven));
}

/** Returns the addresses of the servers that the chart's evaluation values bring. */
export function evaluationUrls(release: string): Record<Server, string> {
  const prefix = (release.includes(CHART) ? release : `${release}-${CHART}`)
    .slice(0, FULLNAME_CHARS_MAX)
    .replace(/-$/, '');
  return {
    postgres: `postgres://${prefix}-postgres:5432/gateway`,
    nats: `nats://${prefix}-nats:4222`,
    redis: `redis://${prefix}-redis:6379`,
  };
}

/** Returns the Namespace and a Secret for each consumer. */
export function secretManifests(namespace: string, secrets: Secrets): SecretManifest[] {
  return [
    namespaceManifest(namespace),
    ...Object.entries(secrets).map(([consumer, values]) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secretName(consumer as Consumer), namespace, labels: LABELS },
      type: 'Opaque',
      // Sorted, so that kept values do not change the text.
      stringData: Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1))),
    })),
  ];
}

/** Returns the values of the consumers' Secrets among these objects. */
export function secretsIn(manifests: readonly SecretManifest[]): Secrets {
  const kept: Partial<Record<Consumer, Record<string, string>>> = {};
  for (const consumer of CONSUMERS) {
    const found = manifests.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === secretName(consumer));
    if (found === undefined) continue;
    const decoded = Object.entries(found.data ?? {}).map(
      ([name, text]) => [name, Buffer.from(text, 'base64').toString('utf8')] as const,
    );
    kept[consumer] = { ...Object.fromEntries(decoded), ...found.stringData };
  }
  return kept;
}

/**
 * Returns the Namespace and an ExternalSecret for each consumer, which takes its values from the
 * object `gateway/<consumer>` of the store.
 * @param store `<name>` of a SecretStore in the namespace, or `ClusterSecretStore/<name>`
 */
export function externalSecretManifests(namespace: string, secrets: Secrets, store: string): Manifest[] {
  const [name, kind = 'SecretStore'] = store.split('/').reverse();
  return [
    namespaceManifest(namespace),
    ...Object.entries(secrets).map(([consumer, values]) => ({
      apiVersion: 'external-secrets.io/v1',
      kind: 'ExternalSecret',
      metadata: { name: secretName(consumer as Consumer), namespace, labels: LABELS },
      spec: {
        refreshInterval: '1h',
        secretStoreRef: { name, kind },
        target: { name: secretName(consumer as Consumer), creationPolicy: 'Owner' },
        data: Object.keys(values)
          .sort()
          .map((secretKey) => ({
            secretKey,
            remoteRef: { key: `gateway/${consumer}`, property: secretKey },
          })),
      },
    })),
  ];
}

function namespaceManifest(namespace: string): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: LABELS } };
}
