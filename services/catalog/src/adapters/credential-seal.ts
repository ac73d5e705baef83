import { open, reseal, SealError, type Rotatable } from '@gateway/service-kit';
import type { CredentialSeal } from '../ports.js';

/** The seal under `GATEWAY_CREDENTIALS_KEY`, with the source's id as context. */
export function makeCredentialSeal(keys: Rotatable<Buffer>): CredentialSeal {
  return {
    current: (sealed, source) => orNull(() => reseal(sealed, source, keys) ?? sealed),
    same(a, b, source) {
      if (a === null || b === null) return a === b;
      const first = orNull(() => open(a, source, keys));
      return first !== null && first === orNull(() => open(b, source, keys));
    },
  };
}

function orNull<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
