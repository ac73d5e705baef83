import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';

/** A masked form shows four characters at each end; so many in a row can only come from a secret. */
const SECRET_PART = /[0-9a-f]{16}/i;

/** Whether a masked form may be stored and shown; null: it may. */
export function refuseMaskedForm(maskedSecret: string): ManagementRefusal | null {
  if (SECRET_PART.test(maskedSecret)) return refuse('invalid_request', 'the masked form shows too much of the secret');
  return maskedSecret === '' ? refuse('invalid_request', 'the masked form of the secret is missing') : null;
}

/** Every secret is random: two keys with the same one come from a door that sent it twice. */
export function secretTaken(): ManagementRefusal {
  return refuse('state_conflict', 'a key with this secret exists');
}
