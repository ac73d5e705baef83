import type { Secrets } from './make-secrets-rules.js';
import type { Consumer } from './table.js';

/** Secrets that programs read together with their previous value, and the consumers that do. */
const READ_WITH_PREVIOUS: Readonly<Record<string, readonly Consumer[]>> = {
  GATEWAY_KEY_PEPPER: ['edge-proxy', 'dashboard'],
  GATEWAY_SOURCE_PRIVATE_KEY: ['edge-proxy'],
  GATEWAY_WEBHOOK_PRIVATE_KEY: ['billing'],
  GATEWAY_SESSION_SECRET: ['dashboard'],
  GATEWAY_OPERATOR_TOKEN: ['dashboard'],
};

export interface Rotation {
  /** The kept values without the old value of the secret and, for a private key, its public key. */
  readonly kept: Secrets;
  /** `consumer/NAME_PREVIOUS` of the values that were moved. */
  readonly moved: readonly string[];
}

/**
 * Moves a secret to NAME_PREVIOUS where a program still accepts it, and removes it elsewhere, so
 * that `makeSecrets` makes a new value. An earlier previous value is replaced.
 * @throws Error for a secret that has no previous value, or that no consumer has yet
 */
export function rotateSecret(kept: Secrets, name: string): Rotation {
  const readers = READ_WITH_PREVIOUS[name];
  if (readers === undefined) {
    throw new Error(`--rotate ${name}: only ${Object.keys(READ_WITH_PREVIOUS).join(', ')} can be rotated`);
  }
  const removed = [name, name.replace('PRIVATE_KEY', 'PUBLIC_KEY')];
  const moved: string[] = [];
  const rotated = Object.entries(kept).map(([consumer, texts]) => {
    const rest = Object.fromEntries(Object.entries(texts).filter(([key]) => !removed.includes(key)));
    const old = texts[name];
    if (old === undefined || !readers.includes(consumer as Consumer)) return [consumer, rest];
    moved.push(`${consumer}/${name}_PREVIOUS`);
    return [consumer, { ...rest, [`${name}_PREVIOUS`]: old }];
  });
  if (moved.length === 0) throw new Error(`--rotate ${name}: there is no value to rotate`);
  return { kept: Object.fromEntries(rotated) as Secrets, moved };
}
