import { BusFault } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import {
  billingLoad,
  billingBalanceSnapshots,
  billingUnchanged,
  subjectPattern,
  usageEvents,
} from '@gateway/contracts/messages';
import type { UsageEvent } from '@gateway/contracts/messages';
import { keyMonthRow } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { ownersOf } from './world.js';
import type { OwnerState } from './world.js';

const CATCH_UP_MS = 1_200;

/**
 * Billing as admission sees it: settles each event of the stream once, publishes balance snapshots
 * and answers loads (docs/protocol.md#r7, docs/protocol.md#r8, docs/protocol.md#r11).
 */
export class FakeLedger {
  readonly settled = new Map<string, UsageEvent>();
  /** If true, new events are not settled yet. */
  behind = false;
  #position = 0;
  #waiting: (() => void)[] = [];

  constructor(
    private readonly bus: Bus,
    private readonly owners: OwnerState,
  ) {
    bus.consume({
      stream: usageEvents.stream,
      durable: 'billing-all',
      filterSubject: subjectPattern(usageEvents),
      batchMax: 50,
      maxAckPending: 500,
      ackWaitMs: 30_000,
      handler: async (deliveries) => {
        if (this.behind) await new Promise<void>((resolve) => this.#waiting.push(resolve));
        for (const delivery of deliveries) {
          const decoded = bus.decode(usageEvents, delivery.data);
          if (decoded.ok) this.#settle(decoded.body.events);
          this.#position = Math.max(this.#position, delivery.sequence);
          delivery.ack();
        }
      },
    });
    const { loadBalances, unchangedBalances } = ownersOf(owners);
    bus.serve(billingUnchanged, async (question) => {
      await this.#catchUp();
      return unchangedBalances(question.accounts);
    });
    bus.serve(billingLoad, async (question) => {
      if (question.afterLoss) await this.#catchUp();
      const answer = await loadBalances(question);
      return { ...answer, caughtUpTo: (await this.#caughtUp()) ? Date.now() : 0 };
    });
  }

  goOn(): void {
    this.behind = false;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Returns the total that the ledger has charged an account. */
  charged(account: string): number {
    let sum = 0;
    for (const { hold, amountNanoUsd } of this.settled.values()) if (hold.account === account) sum += amountNanoUsd;
    return sum;
  }

  #settle(events: readonly UsageEvent[]): void {
    for (const event of events) {
      const known = this.settled.get(event.id);
      const state = this.owners.accounts.get(event.hold.account);
      if (!state) throw new Error(`no account ${event.hold.account}`);
      if (!known || known.rank < event.rank) {
        const amount = event.amountNanoUsd - (known?.amountNanoUsd ?? 0);
        this.settled.set(event.id, event);
        const change = (name: string, by: number) => {
          const row = state.rows.get(name) ?? { value: 0, version: 0 };
          state.rows.set(name, { value: (row.value ?? 0) + by, version: row.version + 1 });
        };
        change('wallet', -amount);
        change(keyMonthRow(event.hold.key, event.hold.periods.month), amount);
      }
      state.records.add(event.id);
      const names = ['wallet', keyMonthRow(event.hold.key, event.hold.periods.month)];
      const rows = names.flatMap((name) => {
        const row = state.rows.get(name);
        return row ? [{ name, ...row }] : [];
      });
      const snapshot = { account: event.hold.account, rows, closed: [event.id] };
      this.bus.publish(billingBalanceSnapshots, {}, { ledgerEpoch: state.ledgerEpoch, accounts: [snapshot] });
    }
  }

  /** Waits until all stored events are settled. Rejects with a fault if that takes too long. */
  async #catchUp(): Promise<void> {
    const { lastSequence } = await this.bus.streamState(usageEvents.stream);
    await until('billing has caught up', () => this.#position >= lastSequence, CATCH_UP_MS).catch((error: unknown) => {
      throw new BusFault('behind', String(error));
    });
  }

  async #caughtUp(): Promise<boolean> {
    return this.#position >= (await this.bus.streamState(usageEvents.stream)).lastSequence;
  }
}
