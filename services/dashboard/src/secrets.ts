import { DEFAULT_KEY_PREFIX, digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import { sealTo, type Rotatable, type Secret } from '@gateway/service-kit';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { OPERATOR_TOKEN_PREFIX } from './operator-api/access.js';

const CREDENTIAL_FILE_BYTES_MAX = 65_536;

export interface SecretsConfig {
  readonly GATEWAY_KEY_PREFIXES: readonly string[] | null;
  readonly GATEWAY_KEY_PEPPER: Rotatable;
  readonly GATEWAY_SOURCE_PUBLIC_KEY: Secret<Buffer>;
  readonly GATEWAY_WEBHOOK_PUBLIC_KEY: Secret<Buffer>;
  readonly GATEWAY_OPERATOR_TOKEN: Rotatable;
  /** Names of variables; a name that ends in `*` is a prefix. */
  readonly GATEWAY_CREDENTIAL_ENV: readonly string[] | null;
}

export type Secrets = ReturnType<typeof createSecrets>;

/**
 * Creates and checks secrets with the system's random source and the deployment's keys. Other
 * services receive only digests, masked forms and encrypted texts. Variables are read at each use.
 */
export function createSecrets(config: SecretsConfig, env: NodeJS.ProcessEnv) {
  const prefix = config.GATEWAY_KEY_PREFIXES?.[0] ?? DEFAULT_KEY_PREFIX;
  const pepper = config.GATEWAY_KEY_PEPPER;
  const digest = (secret: string): string => digestOfSecret(secret, pepper.current.reveal());
  const digestsOf = (token: string): string[] => [
    digest(token),
    ...(pepper.previous ? [digestOfSecret(token, pepper.previous.reveal())] : []),
  ];
  const { current, previous } = config.GATEWAY_OPERATOR_TOKEN;
  const rootTokens = [current, ...(previous ? [previous] : [])].map((token) => sha256(token.reveal()));
  return {
    /** Creates an API key: the secret for one response, and the values to store. */
    makeKey() {
      const secret = makeSecret(prefix);
      return { secret, digest: digest(secret), maskedSecret: maskSecret(secret) };
    },
    /** Creates the secret of an account's webhook (Standard Webhooks), sealed for it alone. */
    makeWebhookSecret(account: string) {
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      return { secret, sealedSecret: sealTo(secret, `webhook:${account}`, config.GATEWAY_WEBHOOK_PUBLIC_KEY) };
    },
    makeOperatorToken() {
      const token = makeSecret(OPERATOR_TOKEN_PREFIX);
      return { token, digest: digest(token) };
    },
    /** Returns the digest under the current pepper, then under the previous one if it exists. */
    digestsOf,
    /** Returns in constant time whether a token is the deployment's own, current or previous. */
    isRootToken(token: string): boolean {
      const presented = sha256(token);
      // All candidates are compared, so that the time does not reveal which one matched.
      return rootTokens.map((root) => timingSafeEqual(root, presented)).includes(true);
    },
    /** Returns the digests of the deployment's own tokens under each pepper. */
    rootDigests: (): string[] =>
      [current, ...(previous ? [previous] : [])].flatMap((token) => digestsOf(token.reveal())),
    /** Returns 64 hexadecimal characters that identify a text without revealing it. */
    fingerprintOf: digest,
    /**
     * Seals a credential for one source. The result is deterministic under the pepper, so that
     * catalog, which cannot open it, recognizes an unchanged credential.
     */
    seal: (credential: string, source: string): string =>
      sealTo(credential, source, config.GATEWAY_SOURCE_PUBLIC_KEY, pepper.current),
    /**
     * Returns the text of the variable NAME, or of the file that NAME_FILE names; null: neither can
     * be read. `not_allowed`: the deployment does not permit this name.
     */
    fromEnvironment(name: string): { readonly text: string } | 'not_allowed' | null {
      if (!isAllowed(name, config.GATEWAY_CREDENTIAL_ENV ?? [])) return 'not_allowed';
      const text = readVariable(name, env);
      return text === null ? null : { text };
    },
  };
}

/** Hashes to equal lengths for the constant-time comparison. */
function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Returns whether operators may use a variable. Variables of the gateway are never permitted,
 * because an operator could send its secrets to any address.
 */
function isAllowed(name: string, allowed: readonly string[]): boolean {
  if (name.startsWith('GATEWAY_')) return false;
  return allowed.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name));
}

function readVariable(name: string, env: NodeJS.ProcessEnv): string | null {
  const direct = env[name] ?? '';
  if (direct !== '') return direct;
  const file = env[`${name}_FILE`] ?? '';
  if (file === '') return null;
  try {
    if (statSync(file).size > CREDENTIAL_FILE_BYTES_MAX) return null;
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '') || null;
  } catch {
    return null;
  }
}
