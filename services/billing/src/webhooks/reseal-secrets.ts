import type { SealedSecretStore, SecretSeal } from './alert-ports.js';

const BATCH_MAX = 500;

export interface Resealed {
  readonly resealed: number;
  /** No key at hand opens them: their events are not sent. */
  readonly unreadable: number;
}

/** After a rotation of GATEWAY_WEBHOOK_PRIVATE_KEY: every secret under the previous key is sealed again under the current one. */
export async function resealSecrets(store: SealedSecretStore, seal: SecretSeal): Promise<Resealed> {
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
