import { isHoldId, readHold, type StoredHold } from '@gateway/admission/limit-store/hold-rules.js';
import { readTemplate, type HoldTemplate } from '@gateway/admission/limit-store/hold-template-rules.js';
import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { POSITIONS, readArgument, type ScriptArgument } from '@gateway/admission/limit-store/script-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import {
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  sessionWindowRow,
  weeklyWindowRow,
} from '@gateway/metering';
import type { ScriptRun } from '../limit-store/server.js';
import { LEASE_MS } from '../hosts/admission-host.js';
import type { World } from '../hosts/world.js';
import { checkHeldInSilence } from './held-in-silence.js';
import { checkConfirmed } from './confirmed.js';
import { checkNearEnd } from './near-end.js';

const FIRST_LEASE_MS = 10_000;
/**
 * A recovery does not wait for edges with an older heartbeat. The clocks of a run differ by less
 * than the rest of that time.
 */
const SILENT_MS = 7_000;

/** Records the grants of each script and compares the accounts that it changed. */
export class LimitStoreWatch {
  readonly #changed = new Set<string>();

  constructor(private readonly world: () => World) {}

  ran({ call, reply }: ScriptRun): void {
    const { script, args } = call;
    const outcome = reply[0];
    const world = this.world();
    switch (script) {
      case 'admit':
        if (outcome !== 'admitted') return;
        this.#admitted(world, args, reply);
        break;
      case 'heartbeat':
        for (const { id, account } of world.truth.calls)
          if (id !== null && args.includes(id) && hasSlot(world, account, id)) this.#leased(id, LEASE_MS);
        break;
      case 'create':
        this.#leased(String(readArgument('CREATE', 'id', args)), LEASE_MS);
        break;
      case 'take':
        if (outcome === 'taken') world.truth.takenBack.add(String(readArgument('TAKE', 'id', args)));
        break;
      case 'set-epoch':
        if (readArgument('SET_EPOCH', 'action', args) === 'open' && outcome === 'open') markUnguarded(world);
        return;
      case 'sweep':
        if (reply[4] === '0') return;
        checkHeldInSilence(world);
        break;
      case 'release':
      case 'apply':
        break;
      case 'confirm':
        checkConfirmed(world, call, reply);
        break;
      case 'due':
      case 'replace':
      case 'lease':
      case 'read':
      case 'list':
      case 'summary':
        return;
    }
    this.#changed.add(call.keys[0] ?? '');
  }

  /** Compares the accounts that have changed since the last call. */
  look(): void {
    if (this.#changed.size === 0) return;
    const world = this.world();
    for (const { name } of world.scenario.accounts) {
      if (this.#changed.has(findBucketKeys(bucketOfAccount(name)).epoch)) compareSums(world, name);
    }
    this.#changed.clear();
  }

  #admitted(world: World, args: readonly ScriptArgument[], reply: readonly string[]): void {
    const id = String(readArgument('ADMIT', 'id', args));
    const account = String(readArgument('ADMIT', 'account', args));
    const concurrency = Number(readArgument('ADMIT', 'concurrency', args));
    const windowsAt = POSITIONS.ADMIT.length;
    const rows = new Map<string, number>();
    for (const text of args.slice(windowsAt, windowsAt + Number(readArgument('ADMIT', 'windows', args)))) {
      const [unit, limit, , , row] = String(text).split(' ');
      if (unit === 'requests' && row !== undefined) rows.set(row, Number(limit));
    }
    world.truth.limits.set(id, { slots: concurrency, rows });
    this.#leased(id, FIRST_LEASE_MS);
    const fields = world.server.hash(findBucketKeys(bucketOfAccount(account)).accounts + account);
    const wallet = Number(fields['v:wallet'] ?? 0) - Number(fields['h:wallet'] ?? 0);
    if (reply[5] === '-1' && wallet < 0) world.truth.broke('the wallet covers every hold', `${id} leaves ${wallet}`);
    if (reply[5] !== '-1') checkNearEnd(world, args, Number(reply[6]));
    if (Number(fields['n']) > concurrency) {
      world.truth.broke('the limit store grants at most the available slots', `${fields['n']} of ${concurrency}`);
    }
  }

  #leased(id: string, ms: number): void {
    const { truth, time } = this.world();
    truth.leases.set(id, time.now + ms);
  }
}

/** False if the slot's lease has ended: a heartbeat does not take the slot again. */
function hasSlot({ server }: World, account: string, id: string): boolean {
  const text = server.hash(findBucketKeys(bucketOfAccount(account)).holds + account)[id];
  return text !== undefined && readHold(text).slot;
}

/** Marks accepted losses (docs/protocol.md#remains): calls of an edge that was cut off. */
function markUnguarded({ truth, streams, time, server }: World): void {
  for (const call of truth.calls) {
    if (call.id === null || call.hold === null || call.hold.admittedAt > server.lostAt) continue;
    const heartbeatAt = streams.lastHeartbeatAt(call.edge.id);
    if (heartbeatAt < time.now - SILENT_MS && !streams.listed.has(call.id)) call.isUnguarded = true;
  }
}

/** Recounts slots and held sums from the holds. */
function compareSums({ server, truth }: World, account: string): void {
  const keys = findBucketKeys(bucketOfAccount(account));
  const fields = server.hash(keys.accounts + account);
  const stored = server.hash(keys.holds + account);
  const sums = new Map<string, number>();
  const add = (name: string, by: number): void => void sums.set(name, (sums.get(name) ?? 0) + by);
  for (const [id, text] of Object.entries(stored)) {
    if (!isHoldId(id)) continue;
    const hold = readHold(text);
    if (hold.state === 'gone') continue;
    const template = readTemplate(stored[`s:${hold.template}`] ?? '');
    addHold(add, hold, template);
  }
  for (const name in fields) {
    if (/^(h:|c:|n$)/.test(name) && !sums.has(name)) sums.set(name, 0);
  }
  for (const [name, sum] of sums) {
    if (Number(fields[name] ?? 0) === sum) continue;
    truth.broke('held sums match the holds', `${account} ${name}: ${fields[name]}, not ${sum}`);
  }
}

function addHold(add: (name: string, by: number) => void, hold: StoredHold, template: HoldTemplate): void {
  const { state, amount, worst, planMax, walletMax, session } = hold;
  const charged = state === 'done' ? amount : worst;
  const walletOfPlan = state === 'done' ? Math.min(Math.max(0, amount - planMax), walletMax ?? 0) : (walletMax ?? 0);
  const plan = walletMax !== null && state === 'done' ? amount - walletOfPlan : 0;
  add('n', hold.slot ? 1 : 0);
  add(`c:${hold.template}`, 1);
  add('h:plan', state === 'done' || walletMax === null ? 0 : worst - walletMax);
  add('h:wallet', walletMax === null ? charged : walletOfPlan);
  add(`h:${keyMonthRow(template.key, template.month)}`, charged);
  add(`h:${memberMonthRow(template.member, template.month)}`, charged);
  if (session !== null) add(`h:session:${session}`, 1);
  for (const row of rowsOf(template, session)) add(`h:${row.name}`, row.unit === 'usd' ? plan : 1);
}

function rowsOf(template: HoldTemplate, session: number | null) {
  const rows = template.windows.flatMap(({ type, unit }) => {
    if (type === 'session_5h') return session === null ? [] : [{ unit, name: sessionWindowRow(unit, session) }];
    if (type === 'weekly')
      return template.weekly === null ? [] : [{ unit, name: weeklyWindowRow(unit, template.weekly) }];
    return template.subscription === null ? [] : [{ unit, name: monthlyWindowRow(unit, template.subscription.id) }];
  });
  if (template.allotment !== null && template.subscription !== null) {
    rows.push({
      unit: template.allotment,
      name: allotmentRow(template.allotment, template.model, template.subscription.id),
    });
  }
  return rows;
}
