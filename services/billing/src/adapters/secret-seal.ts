import { open, reseal, SealError, type Rotatable } from '@gateway/service-kit';
import type { SecretSeal } from '../alert-ports.js';

/** The seal under GATEWAY_CREDENTIALS_KEY; a secret opens for its account's webhook alone. */
export function makeSecretSeal(keys: Rotatable<Buffer>): SecretSeal {
  return {
    open: (sealed, account) => orNull(() => open(sealed, contextOf(account), keys)),
    current: (sealed, account) => orNull(() => reseal(sealed, contextOf(account), keys) ?? sealed),
  };
}

function contextOf(account: string): string {
  return `webhook:${account}`;
}

function orNull(work: () => string): string | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
