import { WALLET_ROW } from '@gateway/metering';
import type { AnswerBodyOf, admissionAuthorize } from '@gateway/contracts/messages';
import type { Decider } from '../load/decider.js';
import { termsAt } from '../domain/terms.js';
import { readState } from './read-state.js';
import type { ReadQuestion } from './read-state.js';

/** What decides which models a key is shown (docs/behaviour.md#models). */
export async function authorize(
  decider: Decider,
  question: ReadQuestion,
): Promise<AnswerBodyOf<typeof admissionAuthorize>> {
  const read = await readState(decider, question, () => [], 'admission_error');
  if (read.kind !== 'authorized') return read;
  const { key, now, rows } = read.state;
  return {
    kind: 'authorized',
    account: read.account,
    key: read.key,
    allowedModels: key.allowedModels,
    planModels: termsAt(read.state.terms, now).terms.models,
    walletAboveZero: (rows.get(WALLET_ROW) ?? 0) > 0,
  };
}
