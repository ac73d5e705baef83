import { spawnSync } from 'node:child_process';
import { secretsIn, type Manifest, type SecretManifest } from './kubernetes-rules.js';
import type { Secrets } from './make-secrets-rules.js';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Reads the Secrets of a namespace with kubectl. A namespace that does not exist has none. */
export function readCluster(namespace: string): Secrets {
  const text = kubectl(['get', 'secrets', `--namespace=${namespace}`, '--output=json']);
  return secretsIn((JSON.parse(text) as { items: SecretManifest[] }).items);
}

/**
 * Creates or updates objects with kubectl. Server-side, because kubectl would otherwise copy all
 * values into an annotation.
 */
export function applyManifests(manifests: readonly Manifest[]): void {
  const list = { apiVersion: 'v1', kind: 'List', items: manifests };
  process.stderr.write(
    kubectl(['apply', '--server-side', '--field-manager=gateway-secrets', '--filename=-'], JSON.stringify(list)),
  );
}

/** Values are sent on standard input, because all users of a machine can see arguments. */
function kubectl(args: readonly string[], input = ''): string {
  const { status, error, stdout, stderr } = spawnSync('kubectl', args, {
    input,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  if (status !== 0) throw new Error(`kubectl ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout;
}
