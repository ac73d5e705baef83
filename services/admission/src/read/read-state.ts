import type { RefusalCode } from '@gateway/contracts/errors';
import type { AdmissionFaultCode, AnswerBodyOf, RefusalFacts, admissionAuthorize } from '@gateway/contracts/messages';
import { WALLET_ROW } from '@gateway/metering';
import { prepareOpen } from '../admit/prepare-call-rules.js';
import type { ReadState } from './read-script.js';
import { findTermsAt } from '../limit-store/terms-rules.js';
import { evictKeyReference, findRoute } from '../records/find-key.js';
import type { DecisionContext } from '../records/load-account.js';
import { readLoaded } from '../records/populate-account.js';
import type { FoundKeyReference } from '../records/record-cache.js';
import { AdmissionFault } from '../ports.js';

/**
 * A request for the model list or the usage endpoint. Only the key and the account can cause a
 * refusal, and nothing is counted.
 */
export interface ReadQuestion {
  readonly id: string;
  readonly digests: readonly string[];
}

export type Unauthorized =
  | { readonly kind: 'refused'; readonly id: string; readonly code: RefusalCode; readonly facts: RefusalFacts }
  | { readonly kind: 'fault'; readonly id: string; readonly code: AdmissionFaultCode };

export interface Authorized {
  readonly kind: 'authorized';
  readonly account: string;
  readonly key: string;
  readonly state: ReadState;
}

/**
 * A balance of a running period. If the period began after the account was loaded, the balance
 * starts at 0 (docs/protocol.md#r13).
 */
export interface PeriodRow {
  readonly row: string;
  readonly start: number;
}

/**
 * Returns the balances that an answer needs. Called again if the terms or the time require others.
 */
export type RowsOf = (state: ReadState) => readonly PeriodRow[];

const WALLET: PeriodRow = { row: WALLET_ROW, start: 0 };
const ATTEMPTS_MAX = 8;

/**
 * Returns the state that the next call with these digests would be decided with, including the
 * balances that `rowsOf` names.
 * @param code of the fault when the state is not available; a failed key look-up gives
 * `lookup_failed`
 */
export async function readState(
  decider: DecisionContext,
  question: ReadQuestion,
  rowsOf: RowsOf,
  code: AdmissionFaultCode,
): Promise<Authorized | Unauthorized> {
  const { id, digests } = question;
  try {
    const found = await findRoute(decider, digests);
    if (found === null) return { kind: 'refused', id, code: 'invalid_api_key', facts: {} };
    return await readUntilLoaded(decider, question, found, rowsOf);
  } catch (error) {
    if (!(error instanceof AdmissionFault)) throw error;
    decider.ports.log.debug({ id, err: error }, 'the state of an account was not read');
    return { kind: 'fault', id, code: error.code === 'lookup_failed' ? error.code : code };
  }
}

async function readUntilLoaded(
  decider: DecisionContext,
  { id, digests }: ReadQuestion,
  { keyReference, fresh }: FoundKeyReference,
  rowsOf: RowsOf,
): Promise<Authorized | Unauthorized> {
  let rows: readonly string[] = [WALLET_ROW];
  let renewed = false;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const state = await readLoaded(decider, keyReference, rows);
    if (state === null) {
      await evictKeyReference(decider.ports.limitStore, decider.cache, digests);
      return { kind: 'refused', id, code: 'invalid_api_key', facts: {} };
    }
    const refusal = refuse(state, digests);
    if (refusal?.code === 'invalid_api_key' && fresh && !renewed) {
      renewed = true;
      await decider.loader.load(keyReference, loadNeeds(state, true, []));
      continue;
    }
    if (refusal !== null) return { kind: 'refused', id, ...refusal };
    const wanted = [WALLET, ...rowsOf(state)];
    if (wanted.some(({ row }) => !rows.includes(row))) {
      rows = wanted.map(({ row }) => row);
      continue;
    }
    const missing = wanted.flatMap(({ row, start }) =>
      start <= state.loadedAt && state.rows.get(row) === undefined ? [row] : [],
    );
    if (missing.length === 0)
      return { kind: 'authorized', account: keyReference.account, key: keyReference.key, state };
    await decider.loader.load(keyReference, loadNeeds(state, false, missing));
  }
  throw new AdmissionFault('admission_error', 'the state could not be read');
}

/** Returns the refusal that follows from the key's record or the account's state. */
function refuse(state: ReadState, digests: readonly string[]): { code: RefusalCode; facts: RefusalFacts } | null {
  const { keyRefusal } = prepareOpen(digests, state, state.now);
  const code = keyRefusal ?? (state.suspended ? 'account_suspended' : null);
  return code === null ? null : { code, facts: {} };
}

function loadNeeds(state: ReadState, key: boolean, rows: readonly string[]) {
  return { epoch: state.epoch, caughtUp: state.caughtUp, account: false, key, rows, startedAt: state.now };
}

/** Returns the data that decide which models a key can see (docs/behaviour.md#models). */
export async function authorize(
  decider: DecisionContext,
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
    planModels: findTermsAt(read.state.terms, now).terms.models,
    walletAboveZero: (rows.get(WALLET_ROW) ?? 0) > 0,
  };
}
