import type { StoredHold } from '@gateway/admission/limit-store/hold-rules.js';
import { readTemplate, type HoldTemplate } from '@gateway/admission/limit-store/hold-template-rules.js';
import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import {
  POSITIONS,
  readArgument,
  type ScriptArgument,
  type ScriptCall,
  type ScriptReply,
} from '@gateway/admission/limit-store/script-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import {
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  sessionWindowRow,
  weeklyWindowRow,
} from '@gateway/metering';
import { LEASE_MS } from '../hosts/admission-host.js';
import { readHolds } from '../limit-store/server.js';
import type { World } from '../hosts/world.js';
import { checkConfirmed } from './in-force.js';
import { checkHeldInSilence } from './run-kind-checks.js';

const FIRST_LEASE_MS = 10_000;
/**
 * A recovery does not wait for edges with an older heartbeat. The clocks of a run differ by less
 * than the rest of that time.
 */
const SILENT_MS = 7_000;
const NEAR_END_SHARE = 0.05;

/** Records the grants of each script and compares the accounts that it changed. */
export class LimitStoreWatch {
  /** Epoch keys of the buckets that have changed since the last look. */
  readonly #changed = new Set<string>();

  constructor(private readonly world: () => World) {}

  ran({ script, keys, args }: ScriptCall, reply: ScriptReply): void {
    const outcome = reply[0];
    const world = this.world();
    const { truth, server } = world;
    switch (script) {
      case 'admit':
        if (outcome !== 'admitted') return;
        this.#admitted(world, args, reply);
        break;
      case 'heartbeat':
        // A heartbeat does not take a slot again whose lease has ended.
        for (const { id, account } of truth.calls) {
          const isNamed = id !== null && args.includes(id);
          if (isNamed && server.holds(account).some((hold) => hold.id === id && hold.slot)) this.#leased(id, LEASE_MS);
        }
        break;
      case 'create':
        this.#leased(String(readArgument('CREATE', 'id', args)), LEASE_MS);
        break;
      case 'take': {
        const call = truth.ofId(String(readArgument('TAKE', 'id', args)));
        if (outcome === 'taken' && call !== undefined) call.isTakenBack = true;
        break;
      }
      case 'set-epoch':
        if (readArgument('SET_EPOCH', 'action', args) === 'open' && outcome === 'open') markUnguarded(world);
        return;
      case 'sweep':
        if (reply[4] === '0') return;
        checkHeldInSilence(world);
        break;
      case 'confirm':
        checkConfirmed(world, keys, args, reply);
        break;
      case 'release':
      case 'apply':
        break;
      case 'due':
      case 'replace':
      case 'lease':
      case 'read':
      case 'list':
      case 'summary':
        return;
    }
    this.#changed.add(keys[0] ?? '');
  }

  /** Compares the accounts that have changed since the last call. */
  look(): void {
    if (this.#changed.size === 0) return;
    const world = this.world();
    for (const { name } of world.scenario.accounts)
      if (this.#changed.has(findBucketKeys(bucketOfAccount(name)).epoch)) compareSums(world, name);
    this.#changed.clear();
  }

  #admitted(world: World, args: readonly ScriptArgument[], reply: readonly string[]): void {
    const { truth, server } = world;
    const id = String(readArgument('ADMIT', 'id', args));
    const account = String(readArgument('ADMIT', 'account', args));
    const slots = Number(readArgument('ADMIT', 'concurrency', args));
    const isPlanFunded = reply[5] !== '-1';
    const windows = parseWindows(args, isPlanFunded ? Number(reply[6]) : 0);
    const requests = windows.filter(({ unit }) => unit === 'requests');
    const call = truth.ofId(id);
    if (call !== undefined) call.limits = { slots, rows: new Map(requests.map(({ row, limit }) => [row, limit])) };
    this.#leased(id, FIRST_LEASE_MS);
    const fields = server.account(account);
    const wallet = Number(fields['v:wallet'] ?? 0) - Number(fields['h:wallet'] ?? 0);
    if (!isPlanFunded && wallet < 0) truth.broke('the wallet covers every hold', `${id} leaves ${wallet}`);
    if (Number(fields['n']) > slots)
      truth.broke('the limit store grants at most the available slots', `${fields['n']} of ${slots}`);
    if (!isPlanFunded) return;
    // In the last 5 % of a USD window, a call paid by its plan begins only while the running calls
    // cannot use up the rest of the window (docs/behaviour.md#windows).
    const others = server.holds(account).filter((hold) => hold.id !== id && hold.state !== 'done');
    const atRisk = others.reduce((sum, { worst, walletMax }) => sum + (walletMax === null ? 0 : worst - walletMax), 0);
    for (const { row, limit } of windows.filter(({ unit }) => unit === 'usd')) {
      const left = limit - Number(fields[`v:${row}`] ?? 0) - Number(fields[`h:${row}`] ?? 0);
      if (left <= limit * NEAR_END_SHARE && atRisk > left)
        truth.broke('a window near its end lets one call begin', `${id}: ${atRisk} may use ${left} of ${row}`);
    }
  }

  #leased(id: string, ms: number): void {
    const { truth, time } = this.world();
    const call = truth.ofId(id);
    if (call !== undefined) call.leasedUntil = time.now + ms;
  }
}

/** Returns the windows of an admission. @param session start of the call's session, 0 for none */
function parseWindows(args: readonly ScriptArgument[], session: number) {
  const windowsAt = POSITIONS.ADMIT.length;
  const texts = args.slice(windowsAt, windowsAt + Number(readArgument('ADMIT', 'windows', args)));
  const windows = texts.map((text) => {
    const [unit, limit, , , row = ''] = String(text).split(' ');
    return { unit, row, limit: Number(limit) };
  });
  const ofSession = /usd (\d+)/.exec(String(readArgument('ADMIT', 'session', args)));
  if (ofSession !== null)
    windows.push({ unit: 'usd', row: sessionWindowRow('usd', session), limit: Number(ofSession[1]) });
  return windows;
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
  const fields = server.account(account);
  const stored = server.holdTexts(account);
  const counted = Object.keys(fields).filter((name) => /^(h:|c:|n$)/.test(name));
  const sums = new Map(counted.map((name) => [name, 0]));
  const add = (name: string, by: number): void => void sums.set(name, (sums.get(name) ?? 0) + by);
  for (const hold of readHolds(stored)) addHold(add, hold, readTemplate(stored[`s:${hold.template}`] ?? ''));
  for (const [name, sum] of sums) {
    if (Number(fields[name] ?? 0) === sum) continue;
    truth.broke('held sums match the holds', `${account} ${name}: ${fields[name]}, not ${sum}`);
  }
}

/**
 * Adds what a hold holds. The balances are listed here again, so that a mistake of billing and the
 * scripts together is noticed.
 */
function addHold(add: (name: string, by: number) => void, hold: StoredHold, template: HoldTemplate): void {
  const { worst, planMax, walletMax, session } = hold;
  const isDone = hold.state === 'done';
  const charged = isDone ? hold.amount : worst;
  const ofPlan = isDone ? Math.min(Math.max(0, charged - planMax), walletMax ?? 0) : (walletMax ?? 0);
  const plan = walletMax !== null && isDone ? charged - ofPlan : 0;
  add('n', hold.slot ? 1 : 0);
  add(`c:${hold.template}`, 1);
  add('h:plan', isDone || walletMax === null ? 0 : worst - walletMax);
  add('h:wallet', walletMax === null ? charged : ofPlan);
  add(`h:${keyMonthRow(template.key, template.month)}`, charged);
  add(`h:${memberMonthRow(template.member, template.month)}`, charged);
  if (session !== null) add(`h:session:${session}`, 1);
  for (const { unit, name } of rowsOf(template, session)) add(`h:${name}`, unit === 'usd' ? plan : 1);
}

function rowsOf({ windows, weekly, subscription, allotment, model }: HoldTemplate, session: number | null) {
  const rows = windows.flatMap(({ type, unit }) => {
    if (type === 'session_5h') return session === null ? [] : [{ unit, name: sessionWindowRow(unit, session) }];
    if (type === 'weekly') return weekly === null ? [] : [{ unit, name: weeklyWindowRow(unit, weekly) }];
    return subscription === null ? [] : [{ unit, name: monthlyWindowRow(unit, subscription.id) }];
  });
  if (allotment !== null && subscription !== null)
    rows.push({ unit: allotment, name: allotmentRow(allotment, model, subscription.id) });
  return rows;
}
