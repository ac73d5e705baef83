import { type OpeningKeys, openSealed, resealTo, SealError } from '@gateway/service-kit';
import type { WebhookStore } from './store.js';

export type SecretSeal = ReturnType<typeof createSecretSeal>;

/** Opens secrets sealed to GATEWAY_WEBHOOK_PRIVATE_KEY, each only for its own account. */
export function createSecretSeal(keys: OpeningKeys) {
  return {
    /** Returns the secret; null if no configured key opens it. */
    open: (sealed: string, account: string): string | null =>
      orNull(() => openSealed(sealed, sealContext(account), keys)),
    /** Returns the secret sealed under the current key; null if no configured key opens it. */
    current: (sealed: string, account: string): string | null =>
      orNull(() => resealTo(sealed, sealContext(account), keys) ?? sealed),
  };
}

function sealContext(account: string): string {
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

const BATCH_MAX = 500;

export interface ResealResult {
  readonly resealed: number;
  /** Secrets that no configured key opens; their events are not sent. */
  readonly unreadable: number;
}

/** Seals all secrets under the current key, after a rotation of GATEWAY_WEBHOOK_PRIVATE_KEY. */
export async function resealSecrets(
  store: Pick<WebhookStore, 'sealedSecrets' | 'replaceSealed'>,
  seal: SecretSeal,
): Promise<ResealResult> {
  let [resealed, unreadable] = [0, 0];
  for (let after = ''; ;) {
    const batch = await store.sealedSecrets(after, BATCH_MAX);
    for (const { account, sealedSecret } of batch) {
      const current = seal.current(sealedSecret, account);
      if (current === null) unreadable += 1;
      if (current === null || current === sealedSecret) continue;
      await store.replaceSealed(account, sealedSecret, current);
      resealed += 1;
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < BATCH_MAX) return { resealed, unreadable };
    after = last.account;
  }
}
