import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { SERVICE_NAMES } from '@gateway/contracts/messages';
import type { ServiceName } from '@gateway/contracts/messages';
import { makePrivateKey, publicHalfOf, Secret } from '@gateway/service-kit';

/** The secrets of the local system, stored in `<state>/secrets.json`. */
export interface Secrets {
  readonly postgresPassword: string;
  readonly redisPassword: string;
  readonly admissionRedisPassword: string;
  readonly busPasswords: Readonly<Record<ServiceName, string>>;
  readonly rolePasswords: Readonly<Record<'billing' | 'accounts' | 'catalog', string>>;
  /** The password of `gateway_finance`, which can only read the views of the schema `finance`. */
  readonly financePassword: string;
  readonly keyPepper: string;
  /** X25519 private keys, 32 bytes in hexadecimal. The public keys are derived from them. */
  readonly sourcePrivateKey: string;
  readonly webhookPrivateKey: string;
  readonly sessionSecret: string;
  readonly operatorToken: string;
  readonly demoProviderKey: string;
  /** Null until the demo account has its key. */
  readonly demoApiKey: string | null;
  /** The password of demo@example.com in the dashboard; null until that user exists. */
  readonly demoPassword: string | null;
  /** The last addresses in the demo's sources; absent before the first demo data. */
  readonly demoProviderUrls?: readonly string[];
}

/** Reads the secrets of a state directory, or creates them. Only the owner can read the file. */
export function loadSecrets(stateDirectory: string): Secrets {
  const file = fileOf(stateDirectory);
  const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<Secrets>) : {};
  // Creates secrets that an older state lacks.
  const secrets = { ...makeSecrets(), ...stored };
  if (Object.keys(secrets).some((name) => !(name in stored))) saveSecrets(stateDirectory, secrets);
  return secrets;
}

/** Replaces the file by a rename, so that a crash leaves the old or the new one. */
export function saveSecrets(stateDirectory: string, secrets: Secrets): void {
  mkdirSync(stateDirectory, { recursive: true });
  const file = fileOf(stateDirectory);
  writeFileSync(`${file}.new`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Returns the public key of a private key, both in hexadecimal. */
export function publicKeyOf(privateKey: string): string {
  return publicHalfOf(new Secret(Buffer.from(privateKey, 'hex')))
    .reveal()
    .toString('hex');
}

function makeSecrets(): Secrets {
  const hex = (bytes: number) => randomBytes(bytes).toString('hex');
  return {
    postgresPassword: hex(24),
    redisPassword: hex(24),
    admissionRedisPassword: hex(24),
    busPasswords: Object.fromEntries(SERVICE_NAMES.map((name) => [name, hex(24)])) as Record<ServiceName, string>,
    rolePasswords: { billing: hex(24), accounts: hex(24), catalog: hex(24) },
    financePassword: hex(24),
    keyPepper: hex(32),
    sourcePrivateKey: makePrivateKey().toString('hex'),
    webhookPrivateKey: makePrivateKey().toString('hex'),
    sessionSecret: hex(32),
    operatorToken: hex(32),
    demoProviderKey: `sim-${hex(24)}`,
    demoApiKey: null,
    demoPassword: null,
  };
}

function fileOf(stateDirectory: string): string {
  return `${stateDirectory}/secrets.json`;
}
