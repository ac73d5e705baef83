import { DEFAULT_KEY_PREFIX, digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import { sealTo, type Rotatable, type Secret } from '@gateway/service-kit';
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { OPERATOR_TOKEN_PREFIX } from './operator-api/access.js';

const CREDENTIAL_FILE_BYTES_MAX = 65_536;
/** Signing secrets of webhooks: this and 48 lower-case hexadecimal characters. */
const WEBHOOK_SECRET_PREFIX = 'whsec_';

export interface SecretsConfig {
  readonly GATEWAY_KEY_PREFIXES: readonly string[] | null;
  readonly GATEWAY_KEY_PEPPER: Rotatable;
  readonly GATEWAY_SOURCE_PUBLIC_KEY: Secret<Buffer>;
  readonly GATEWAY_WEBHOOK_PUBLIC_KEY: Secret<Buffer>;
  readonly GATEWAY_OPERATOR_TOKEN: Rotatable;
  /** Names of variables; one that ends in `*` is the beginning of names. */
  readonly GATEWAY_CREDENTIAL_ENV: readonly string[] | null;
}

export type Secrets = ReturnType<typeof createSecrets>;

/**
 * Secrets from the system's random source, under the keys of the deployment. They are made and
 * judged here; what leaves over the bus are digests, masked forms and sealed texts. `env` is read
 * when a variable is asked for.
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
    /** A new API key: the secret for the one answer, and what is stored of it. */
    makeKey() {
      const secret = makeSecret(prefix);
      return { secret, digest: digest(secret), maskedSecret: maskSecret(secret) };
    },
    /** Signs the events of an account's webhook; sealed for that webhook alone. */
    makeWebhookSecret(account: string) {
      const secret = makeSecret(WEBHOOK_SECRET_PREFIX);
      return { secret, sealedSecret: sealTo(secret, `webhook:${account}`, config.GATEWAY_WEBHOOK_PUBLIC_KEY) };
    },
    makeOperatorToken() {
      const token = makeSecret(OPERATOR_TOKEN_PREFIX);
      return { token, digest: digest(token) };
    },
    /** Under the current pepper, then under the previous one if there is one. */
    digestsOf,
    /** Whether it is the deployment's own token, current or previous; in constant time. */
    isRootToken(token: string): boolean {
      const presented = sha256(token);
      // Every candidate is compared, so that the time says nothing about which one it was.
      return rootTokens.map((root) => timingSafeEqual(root, presented)).includes(true);
    },
    /** Of the deployment's own tokens, current and previous, under each pepper. */
    rootDigests: (): string[] =>
      [current, ...(previous ? [previous] : [])].flatMap((token) => digestsOf(token.reveal())),
    /** Names a content without telling anything of it: 64 hexadecimal characters. */
    fingerprintOf: digest,
    /**
     * Sealed for this source alone. Repeated under the pepper: catalog, which opens nothing, sees
     * that one put again is the same.
     */
    seal: (credential: string, source: string): string =>
      sealTo(credential, source, config.GATEWAY_SOURCE_PUBLIC_KEY, pepper.current),
    /**
     * The text of the variable NAME, or of the file that NAME_FILE names; null: neither can be
     * read. `not_allowed`: the deployment does not give this name to operators.
     */
    fromEnvironment(name: string): { readonly text: string } | 'not_allowed' | null {
      if (!isAllowed(name, config.GATEWAY_CREDENTIAL_ENV ?? [])) return 'not_allowed';
      const text = readVariable(name, env);
      return text === null ? null : { text };
    },
  };
}

/** Equal lengths for the comparison in constant time. */
function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Variables of the gateway itself, its own secrets among them, are never given: an operator could
 * send them to an address.
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
