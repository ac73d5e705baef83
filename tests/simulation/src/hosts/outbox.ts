import { publishChange } from '@gateway/billing/ledger/tell-change.js';
import { composeTerms, NO_OVERRIDES, type Subscription } from '@gateway/billing/subscriptions/terms-rules.js';
import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { checkInForce, type FieldVersion } from '../check/in-force.js';
import { onWire } from '../network/network.js';
import type { OutboxRow } from '../ledger/memory-ledger.js';
import { Host } from '../time/host.js';
import { anyOf, requestAny, type AdmissionReplica, type HostedProcess, type RunParts } from './run-parts.js';

const APPLY_MS = 2_000;
const REPEAT_MS = 500;

interface OutboxWorld extends RunParts {
  readonly billings: readonly ((HostedProcess & { isLedger(database: string): boolean }) | null)[];
}

/**
 * Billing's commands and corrections of money and terms. Commands are refused while the database is
 * away. Changes are sent to admission in order and repeated until admission has confirmed them.
 */
export class Outbox {
  readonly host = new Host('outbox');
  #isTelling = false;
  #entries = 0;

  constructor(private readonly world: () => OutboxWorld) {}

  get waiting(): number {
    return this.world().ledger.outbox.length;
  }

  addToWallet(account: string, amountNanoUsd: number): void {
    const { ledger, truth, time } = this.world();
    if (ledger.isAway(time.now)) return;
    this.#entries += 1;
    const id = `entry-${this.#entries}`;
    const snapshot = ledger.addEntry(account, BigInt(amountNanoUsd), id);
    if (snapshot === null) return;
    const entry = truth.addEntry(account, amountNanoUsd);
    this.#tell({ snapshot, taken: () => void (entry.inForceAt = time.now) });
  }

  setTerms(account: string, subscription: Subscription | null): void {
    const { ledger, time } = this.world();
    if (ledger.isAway(time.now)) return;
    ledger.setSubscription(account, subscription);
    const { published, termsVersion } = ledger.snapshot({ account, names: [], ids: [], now: time.now });
    const terms = { value: composeTerms(published, NO_OVERRIDES), version: termsVersion };
    this.#tell({ snapshot: { account, rows: [], terms, closed: [] }, taken: () => undefined });
  }

  /** Adds corrections of the transaction that has just settled a batch. */
  correct(snapshots: readonly BalanceSnapshot[]): void {
    for (const snapshot of snapshots) this.#tell({ snapshot: onWire(snapshot), taken: () => undefined });
  }

  #tell(row: OutboxRow): void {
    const { ledger, time } = this.world();
    ledger.outbox = [...ledger.outbox, row];
    if (this.#isTelling) return;
    this.#isTelling = true;
    time.in(this.host, 0, () => this.#tellNext());
  }

  #tellNext(): void {
    const world = this.world();
    const { ledger, time } = world;
    const [row] = ledger.outbox;
    this.#isTelling = row !== undefined;
    if (row === undefined) return;
    const telling = {
      stateWith: async () => {
        const { database, epoch: ledgerEpoch } = ledger.reached(time.now);
        return ledger.outbox.includes(row) ? { database, ledgerEpoch } : null;
      },
      // One replica of billing has taken the row.
      isLedger: (database: string) => anyOf(world, world.billings)?.isLedger(database) === true,
      apply: (body: Parameters<AdmissionReplica['admission']['apply']>[0]) =>
        requestAny(world, this.host, world.admissions, APPLY_MS, ({ admission }) => admission.apply(body)),
    };
    const { account, rows, terms } = row.snapshot;
    const told = publishChange(telling, { change: '', snapshot: row.snapshot });
    // The row stays while the database cannot be reached, and is sent again.
    const taken = told.then(() => ledger.reached(time.now));
    taken.then(
      () => {
        // A promotion may have restored other rows in the meantime.
        ledger.outbox = ledger.outbox.filter((one) => one !== row);
        row.taken();
        const wallet = rows.filter(({ name }) => name === 'wallet');
        const versions = wallet.map(({ version }): FieldVersion => ['u:wallet', version]);
        checkInForce(world, account, terms ? [...versions, ['tv', terms.version]] : versions);
        this.#tellNext();
      },
      () => void time.in(this.host, REPEAT_MS, () => this.#tellNext()),
    );
  }
}
