import { randomBytes } from 'node:crypto';
import { SERVICE_NAMES } from '@gateway/contracts/messages';
import type { ServiceName } from '@gateway/contracts/messages';
import { makePrivateKey, publicHalfOf, Secret } from '@gateway/service-kit';
import { readJson, replaceFile } from './state-file.js';

/** The secrets of the local system, stored in `<state>/secrets.json`. */
export interface Secrets extends ReturnType<typeof makeSecrets> {
  /** The last addresses in the demo's sources; absent before the first demo data. */
  readonly demoProviderUrls?: readonly string[];
}

/** Reads the secrets of a state directory, or creates them. Only the owner can read the file. */
export function loadSecrets(stateDirectory: string): Secrets {
  const stored = (readJson(fileOf(stateDirectory)) ?? {}) as Partial<Secrets>;
  // Creates secrets that an older state lacks.
  const secrets = { ...makeSecrets(), ...stored };
  if (Object.keys(secrets).some((name) => !(name in stored))) saveSecrets(stateDirectory, secrets);
  return secrets;
}

export function saveSecrets(stateDirectory: string, secrets: Secrets): void {
  replaceFile(fileOf(stateDirectory), JSON.stringify(secrets, null, 2));
}

/** Returns the public key of a private key, both in hexadecimal. */
export function publicKeyOf(privateKey: string): string {
  return publicHalfOf(new Secret(Buffer.from(privateKey, 'hex')))
    .reveal()
    .toString('hex');
}

function makeSecrets() {
  const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
  return {
    postgresPassword: hex(24),
    redisPassword: hex(24),
    admissionRedisPassword: hex(24),
    busPasswords: Object.fromEntries(SERVICE_NAMES.map((name) => [name, hex(24)])) as Record<ServiceName, string>,
    rolePasswords: { billing: hex(24), accounts: hex(24), catalog: hex(24) },
    /** The password of `gateway_finance`, which can only read the views of the schema `finance`. */
    financePassword: hex(24),
    keyPepper: hex(32),
    /** X25519 private keys, 32 bytes in hexadecimal. The public keys are derived from them. */
    sourcePrivateKey: makePrivateKey().toString('hex'),
    webhookPrivateKey: makePrivateKey().toString('hex'),
    sessionSecret: hex(32),
    operatorToken: hex(32),
    /** Null until the demo account has its key. */
    demoApiKey: null as string | null,
    /** The password of demo@example.com in the dashboard; null until that user exists. */
    demoPassword: null as string | null,
  };
}

function fileOf(stateDirectory: string): string {
  return `${stateDirectory}/secrets.json`;
}
