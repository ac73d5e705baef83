import { type SingleFlight, counter } from '@gateway/service-kit';
import type { LoadNeeds } from '../admit/admit-script.js';
import { buildApplyCall } from '../apply/apply-script.js';
import { AdmissionFault, type Ports, runScript } from '../ports.js';
import type { KeyUses } from '../uses/key-uses.js';
import type { RefusedCalls } from '../uses/refused-calls.js';
import type { FoundKeyReference, KeyReference, RecordCache } from './record-cache.js';

/**
 * The records that one decision lacks. `startedAt`: Redis time in ms before anything was requested.
 */
export interface LoadRequest extends LoadNeeds {
  readonly startedAt: number;
}

/** Balances in one load. A decision needs at most 16. */
const ROWS_MAX = 100;

interface MergedRequest {
  readonly keyReference: KeyReference;
  readonly epoch: string;
  startedAt: number;
  caughtUp: boolean;
  account: boolean;
  readonly keys: Set<string>;
  readonly rows: Set<string>;
}

interface PendingLoad {
  readonly request: MergedRequest;
  readonly running: Promise<ReadonlySet<string>>;
  /** Requests that arrived during the load. They are loaded together afterwards. */
  next: { readonly request: MergedRequest; readonly done: Promise<ReadonlySet<string>> } | null;
}

/**
 * Loads missing records from the owners (docs/protocol.md#r11). Each account has at most one load
 * in flight; requests that arrive in the meantime are merged into the next load.
 */
export class AccountLoader {
  readonly #flights = new Map<string, PendingLoad>();

  constructor(private readonly ports: Pick<Ports, 'limitStore' | 'owners'>) {}

  /**
   * Resolves when the script has written the loaded records, or has refused them (a later epoch or
   * change). The decision is then repeated. Returns the keys that accounts does not know.
   * @throws AdmissionFault `lookup_failed` (accounts) or `admission_error` (billing, Redis)
   */
  load(keyReference: KeyReference, request: LoadRequest): Promise<ReadonlySet<string>> {
    const merged = mergeRequest(null, keyReference, request);
    const flight = this.#flights.get(keyReference.account);
    if (flight === undefined) return this.#fly(merged);
    if (covers(flight.request, merged)) return flight.running;
    if (flight.next !== null) {
      mergeRequest(flight.next.request, keyReference, request);
      return flight.next.done;
    }
    const done = flight.running.then(
      () => this.#fly(merged),
      () => this.#fly(merged),
    );
    flight.next = { request: merged, done };
    return done;
  }

  #fly(request: MergedRequest): Promise<ReadonlySet<string>> {
    const { account } = request.keyReference;
    const flight: PendingLoad = {
      request,
      next: null,
      running: this.#loadOnce(request).finally(() => {
        if (flight.next === null) this.#flights.delete(account);
      }),
    };
    this.#flights.set(account, flight);
    return flight.running;
  }

  async #loadOnce(request: MergedRequest): Promise<ReadonlySet<string>> {
    const { keyReference, epoch, startedAt, keys } = request;
    const wantsRecords = request.account || keys.size > 0;
    const wantsBalances = request.account || request.rows.size > 0;
    const [records, snapshot] = await Promise.all([
      wantsRecords ? this.#askAccounts(request) : null,
      wantsBalances ? this.#askBilling(request) : null,
    ]);
    const record = records?.find((answer) => answer.account !== null)?.account ?? undefined;
    const keyRecords = records?.flatMap(({ key }) => (key ? [key] : [])) ?? [];
    const members = records?.flatMap(({ member }) => (member ? [member] : [])) ?? [];
    const missing = new Set([...keys].filter((key) => !keyRecords.some((cache) => cache.key === key)));
    if (request.account && record === undefined) return keys;
    const complete = record !== undefined && snapshot !== null;
    const reply = await runScript(
      this.ports.limitStore,
      buildApplyCall(
        keyReference.keys,
        {
          account: keyReference.account,
          ...(record && { record }),
          ...(snapshot && { ledgerEpoch: snapshot.ledgerEpoch, snapshot: snapshot.snapshot }),
          members,
          keyRecords,
        },
        {
          epoch,
          startedAt,
          complete,
          caughtUp: snapshot !== null && !request.caughtUp,
          version: snapshot?.version ?? null,
        },
      ),
    );
    loadsTotal.of({ outcome: reply[0] === 'applied' ? 'loaded' : 'void' }).add();
    return missing;
  }

  async #askAccounts({ keyReference, keys }: MergedRequest) {
    try {
      const asked = keys.size > 0 ? [...keys] : [null];
      return await Promise.all(asked.map((key) => this.ports.owners.loadAccount(keyReference.account, key)));
    } catch (cause) {
      loadsTotal.of({ outcome: 'accounts_failed' }).add();
      throw new AdmissionFault('lookup_failed', 'accounts did not respond to a load', { cause });
    }
  }

  async #askBilling({ keyReference, rows, caughtUp }: MergedRequest) {
    try {
      const names = [...rows].slice(0, ROWS_MAX);
      // Until billing has caught up once since the epoch was set, its answers may lack events of
      // the lost limit store.
      return await this.ports.owners.loadBalances({
        account: keyReference.account,
        names,
        ids: [],
        afterLoss: !caughtUp,
      });
    } catch (cause) {
      loadsTotal.of({ outcome: 'billing_failed' }).add();
      throw new AdmissionFault('admission_error', 'billing did not respond to a load', { cause });
    }
  }
}

/** Whether a load in flight covers everything in another request. */
function covers(flying: MergedRequest, wanted: MergedRequest): boolean {
  return (
    flying.epoch === wanted.epoch &&
    (flying.account || !wanted.account) &&
    [...wanted.keys].every((key) => flying.keys.has(key)) &&
    [...wanted.rows].every((row) => flying.rows.has(row))
  );
}

/**
 * Merges a request into a waiting one. The earliest start counts, because the data must not be
 * older than the stated start.
 */
function mergeRequest(into: MergedRequest | null, keyReference: KeyReference, request: LoadRequest): MergedRequest {
  const merged = into ?? {
    keyReference,
    epoch: request.epoch,
    startedAt: request.startedAt,
    caughtUp: request.caughtUp,
    account: false,
    keys: new Set<string>(),
    rows: new Set<string>(),
  };
  merged.startedAt = Math.min(merged.startedAt, request.startedAt);
  merged.caughtUp &&= request.caughtUp;
  merged.account ||= request.account;
  if (request.key) merged.keys.add(keyReference.key);
  for (const row of request.rows) merged.rows.add(row);
  return merged;
}

/** Objects that all decisions of a process share. */
export interface DecisionContext {
  readonly ports: Ports;
  readonly cache: RecordCache;
  readonly uses: Pick<KeyUses, 'note'>;
  readonly refused: Pick<RefusedCalls, 'note'>;
  readonly loader: AccountLoader;
  /** Look-ups of digests and records in progress. */
  readonly routing: SingleFlight<FoundKeyReference | null>;
  readonly populating: SingleFlight<boolean>;
  /** Called for each bucket without an epoch, and for each bucket that is restoring. */
  readonly noticeLoss: (bucket: number) => void;
}

/** Loads of accounts from their owners, by outcome. */
export const loadsTotal = counter('gateway_admission_account_loads_total', 'Loads of an account from its owners', {
  outcome: ['loaded', 'void', 'accounts_failed', 'billing_failed'],
});
