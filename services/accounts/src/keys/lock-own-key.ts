import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { ApiKey } from '../domain/objects.js';
import type { KeysTx } from '../tx-ports.js';

/** The key that an operator names, with its account locked. The playground key is internal: nobody names it. */
export async function lockOwnKey(tx: Pick<KeysTx, 'lockKey'>, id: string): Promise<ApiKey | ManagementRefusal> {
  const key = await tx.lockKey(id);
  return key?.kind === 'api' ? key : noSuchKey();
}

export function noSuchKey(): ManagementRefusal {
  return refuse('not_found', 'there is no such key');
}
