import { type OpeningKeys, openSealed, resealTo, SealError } from '@gateway/service-kit';
import type { SecretSeal } from './alert-ports.js';

/** Opens what was sealed to GATEWAY_WEBHOOK_PRIVATE_KEY; a secret opens for its account's webhook alone. */
export function makeSecretSeal(keys: OpeningKeys): SecretSeal {
  return {
    open: (sealed, account) => orNull(() => openSealed(sealed, contextOf(account), keys)),
    current: (sealed, account) => orNull(() => resealTo(sealed, contextOf(account), keys) ?? sealed),
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
