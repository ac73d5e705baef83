import { createMonths } from '@gateway/billing/ledger/months.js';
import { readDelivery } from '@gateway/billing/usage/read/read-deliveries.js';
import { settleBatch } from '@gateway/billing/usage/settle-batch.js';
import { WALLET_ROW } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import { Random } from '../time/random.js';

/** Checks entries, balances and wallets against each other (docs/protocol.md#i1). */
export function checkLedger({ ledger, truth, scenario }: World): void {
  const sums = new Map<string, bigint>();
  for (const { id, entries } of ledger.transactions.values()) {
    let total = 0n;
    for (const { ledgerAccount, amountNanoUsd } of entries) {
      total += amountNanoUsd;
      sums.set(ledgerAccount, (sums.get(ledgerAccount) ?? 0n) + amountNanoUsd);
    }
    if (total !== 0n) truth.broke('transactions sum to zero', `${id}: ${total}`);
  }
  for (const { name } of scenario.accounts) {
    const wallet = ledger.row(name, WALLET_ROW)?.value ?? 0n;
    const posted = sums.get(`wallet:${name}`) ?? 0n;
    const funded = truth.entries.reduce((sum, entry) => sum + (entry.account === name ? entry.amountNanoUsd : 0), 0);
    const records = [...ledger.records.values()].filter(({ account }) => account === name);
    const charged = records.reduce((sum, { walletNanoUsd }) => sum + walletNanoUsd, 0n);
    if (wallet !== posted) truth.broke('balances are the sums of their entries', `${name}: ${wallet}, not ${posted}`);
    if (wallet !== BigInt(funded) - charged) {
      truth.broke('a wallet is credits less charges', `${name}: ${wallet} of ${funded} less ${charged}`);
    }
  }
}

/** Settles all messages in another order and compares balances (docs/protocol.md#i8). */
export async function checkReplay(world: World): Promise<void> {
  const { streams, ledger, truth, scenario } = world;
  const again = new MemoryLedger();
  const random = new Random(scenario.seed ^ 0x3c3c);
  const messages = [...streams.usage];
  for (let last = messages.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    const [one, two] = [messages[last], messages[other]];
    if (one !== undefined && two !== undefined) [messages[last], messages[other]] = [two, one];
  }
  const store = {
    commit: (work: Parameters<MemoryLedger['settle']>[0]) => again.settle(work),
    ensureMonth: async () => true,
  };
  const months = createMonths(store);
  for (const { data, subject, sequence } of messages) {
    const { received, deadLetters } = readDelivery(data, { subject, sequence });
    await settleBatch(store, months, { received, deadLetters, applied: [] });
  }
  const funded = new Map<string, bigint>();
  for (const { account, amountNanoUsd } of truth.entries) {
    funded.set(account, (funded.get(account) ?? 0n) + BigInt(amountNanoUsd));
  }
  for (const { name } of scenario.accounts) {
    const names = new Set([...(ledger.rows.get(name) ?? []), ...(again.rows.get(name) ?? [])].map(([row]) => row));
    for (const row of names) {
      const opening = row === WALLET_ROW ? (funded.get(name) ?? 0n) : 0n;
      const [first, second] = [ledger.row(name, row)?.value ?? 0n, (again.row(name, row)?.value ?? 0n) + opening];
      if (first !== second)
        truth.broke('any order gives the same balances', `${name} ${row}: ${first}, then ${second}`);
    }
  }
}
