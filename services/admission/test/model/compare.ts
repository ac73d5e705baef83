import { isDeepStrictEqual } from 'node:util';
import type { BatchAnswer, HoldFields } from '@gateway/contracts/messages';
import { SESSION_5H_MS, parseRowName } from '@gateway/metering';
import { toHoldFields, readHold } from '../../src/limit-store/hold-rules.js';
import type { StoredHold } from '../../src/limit-store/hold-rules.js';
import { readTemplate } from '../../src/limit-store/hold-template-rules.js';
import type { ModelAnswer, ModelLimitStore } from './model-limit-store.js';
import { heldSums, rowsIn } from './model-state.js';
import type { ModelHold, ModelState } from './model-state.js';
import { priceAt, sourcesOf, termsAt } from './model-terms.js';
import { COST_MAX } from './scene.js';
import type { Stage } from './stage.js';

/**
 * Maximum bytes of a done hold (docs/protocol.md#r14). The digits of a giant worst case are added.
 */
const DONE_BYTES_MAX = 100;

/** A difference between the script and the model. */
export class Disagreement extends Error {
  override readonly name = 'Disagreement';
}

export function agree(what: string, real: unknown, model: unknown): void {
  if (isDeepStrictEqual(real, model)) return;
  throw new Disagreement(`${what}\n  script: ${JSON.stringify(real)}\n  model:  ${JSON.stringify(model)}`);
}

/** @param endpoint null for an `open` entry */
export function agreeOnAnswer(stage: Stage, real: BatchAnswer, model: ModelAnswer, endpoint: string | null): void {
  if (model.kind === 'refused') {
    if (
      real.kind === 'refused' &&
      model.facts.some((facts) => isDeepStrictEqual({ code: model.code, facts }, pick(real)))
    )
      return;
    throw new Disagreement(`answer\n  script: ${JSON.stringify(real)}\n  model:  ${JSON.stringify(model)}`);
  }
  if (model.kind !== 'admitted' || real.kind !== 'admitted') {
    agree('answer', { ...pick(real), kind: real.kind }, { ...model });
    return;
  }
  agree('hold', { hold: real.hold, repeated: real.repeated }, { hold: model.hold, repeated: model.repeated });
  agree('place', [real.account, real.bucket, real.epoch], [stage.account, stage.bucket, stage.model.state.epoch]);
  if (model.hold === null || endpoint === null) return;
  const { model: name, admittedAt } = model.hold;
  agree('price', real.price, priceAt(stage.catalog, name, admittedAt));
  agree('sources', real.sources, sourcesOf(stage.catalog, name, '/v1/chat/completions'));
}

function pick(answer: BatchAnswer) {
  if (answer.kind === 'refused') return { code: answer.code, facts: answer.facts };
  return answer.kind === 'fault' ? { code: answer.code } : {};
}

/** The sums of the script's account. */
export interface Sums {
  readonly slots: number;
  readonly session: number | null;
  /** Held sums as texts, because a sum may be too large for an exact number. */
  readonly held: Record<string, string>;
  readonly rows: Record<string, { value: number | null; version: number }>;
}

/** Compares an account in Redis with the model: slots, held sums, holds, balances, the session. */
export class StateReader {
  /** Holds at the last comparison. Most of them stay the same for many steps. */
  readonly #compared = new Map<string, string>();

  /** @param stored the fields of the account's holds */
  agree(
    fields: Readonly<Record<string, string>>,
    stored: Readonly<Record<string, string>>,
    state: ModelState,
    now: number,
  ): Sums {
    this.#agreeOnHolds(stored, state);
    const sums = sumsOf(fields);
    agree('slots', sums.slots, state.slots());
    agree('held', sums.held, heldSums(state));
    if (state.loadedAt === null) return sums;
    agree('session', openAt(sums.session, now), openAt(state.session, now));
    agree('rows', rowsOf(Object.entries(sums.rows), state), rowsOf(state.rows, state));
    return sums;
  }

  #agreeOnHolds(stored: Readonly<Record<string, string>>, state: ModelState): void {
    let holds = 0;
    let gone = 0;
    let counted = 0;
    for (const id in stored) {
      const text = stored[id] ?? '';
      if (id.startsWith('s:')) continue;
      if (id.startsWith('m:')) {
        if (!state.counted.has(id.slice(2))) throw new Disagreement(`${id} is noted in the script only`);
        counted += 1;
        continue;
      }
      if (text === 'g') {
        if (!state.gone.has(id)) throw new Disagreement(`${id} is gone in the script only`);
        gone += 1;
        continue;
      }
      const known = state.holds.get(id);
      if (!known) throw new Disagreement(`${id} is held by the script only: ${text}`);
      holds += 1;
      const { fields, ...changing } = known;
      const compared = `${text} ${Object.values(changing).join(' ')}`;
      if (this.#compared.get(id) === compared) continue;
      const hold = readHold(text);
      const template = readTemplate(stored[`s:${hold.template}`] ?? '');
      agree(
        `hold ${id}`,
        factsOf({ ...hold, fields: toHoldFields(fields.account, hold, template) }),
        modelFacts(known),
      );
      if (hold.state === 'done' && hold.worst <= COST_MAX && text.length > DONE_BYTES_MAX)
        throw new Disagreement('a done hold is too large');
      this.#compared.set(id, compared);
    }
    if (counted < state.counted.size) throw new Disagreement('the script lacks a place that was taken in a minute');
    if (holds < state.holds.size || gone < state.gone.size) {
      const ids = [...state.holds.keys(), ...state.gone.keys()].filter((id) => !(id in stored));
      throw new Disagreement(`the script lacks ${ids.join()}`);
    }
  }
}

/**
 * Checks that a balance of a loaded account includes everything that was settled before the load or
 * known before its deletion, even after late balance snapshots.
 */
export function requireSettled(sums: Sums, { state, ledgerAtLoad }: ModelLimitStore): void {
  if (state.loadedAt === null) return;
  for (const [name, { version }] of Object.entries(sums.rows)) {
    const settled = Math.max(ledgerAtLoad.get(name) ?? 0, state.dropped.get(name) ?? 0);
    if (version < settled) throw new Disagreement(`${name} has version ${version}, and ${settled} was known`);
  }
}

/** Returns null for a session that has ended, regardless of remaining data. */
function openAt(session: number | null, now: number): number | null {
  return session !== null && now < session + SESSION_5H_MS ? session : null;
}

function sumsOf(fields: Readonly<Record<string, string>>): Sums {
  const held: Record<string, string> = {};
  const rows: Sums['rows'] = {};
  for (const field in fields) {
    const value = fields[field] ?? '';
    const name = field.slice(2);
    if (field.startsWith('h:')) held[name] = value;
    if (field.startsWith('v:')) {
      rows[name] = { value: value === '' ? null : Number(value), version: Number(fields[`u:${name}`]) };
    }
  }
  return {
    held,
    rows,
    slots: Number(fields['n'] ?? 0),
    session: fields['ss'] === undefined ? null : Number(fields['ss']),
  };
}

/** Checks the invariants of an admission by the script's own numbers (docs/protocol.md#i6). */
export function requireFunds(sums: Sums, hold: HoldFields, state: ModelState): void {
  const wallet = sums.rows['wallet']?.value ?? 0;
  const held = Number(sums.held['wallet'] ?? 0);
  if (hold.walletMaxNanoUsd === null && wallet - held < 0) throw new Disagreement(`${held} is held of ${wallet}`);
  const terms = termsAt(state.terms.value, hold.admittedAt);
  if (sums.slots > terms.concurrency) throw new Disagreement(`${sums.slots} slots are taken`);
  const { month, subscription } = hold.periods;
  const caps = [
    [`km:${hold.key}:${month}`, state.keys.get(hold.key)?.capNanoUsd],
    [`mm:${hold.member}:${month}`, state.members.get(hold.member)?.capNanoUsd],
  ] as const;
  for (const [row, cap] of caps) {
    const spent = BigInt(sums.rows[row]?.value ?? 0) + BigInt(sums.held[row] ?? 0);
    if (typeof cap === 'number' && spent > BigInt(cap)) throw new Disagreement(`${row} has ${spent} of ${cap}`);
  }
  if (subscription === null) return;
  for (const { type, unit, limit } of terms.windows) {
    const start = { session_5h: hold.periods.session5h, weekly: hold.periods.weekly, monthly: subscription.id }[type];
    const row = `w:${type}:${unit}:${start}`;
    const used = sums.rows[row]?.value ?? 0;
    const counts = (fields: HoldFields) => rowsIn(unit, fields).includes(row);
    const held = unit === 'requests' ? state.running(counts) : state.planOwes(counts);
    if (unit === 'requests' ? used + held > limit : used + held >= limit)
      throw new Disagreement(`${row} is over ${limit}`);
  }
}

function factsOf(hold: Omit<StoredHold, 'shape'> & { fields: HoldFields }) {
  const { state, slot, takenBack, lease, due, tries, amount, edge, fields } = hold;
  return { state, slot, takenBack, lease: slot ? lease : 0, due, tries, amount, edge, fields };
}

function modelFacts({ state, slot, lease, due, tries, amount, edge, fields }: ModelHold) {
  const taken = slot === 'taken';
  return {
    state,
    slot: taken,
    takenBack: slot === 'taken back',
    lease: taken ? lease : 0,
    due,
    tries,
    amount,
    edge,
    fields,
  };
}

/** Ignores balances of sessions that have ended. */
function rowsOf(rows: Iterable<[string, { value: number | null; version: number }]>, { session }: ModelState) {
  const kept = [...rows].filter(([name]) => {
    const row = name.startsWith('w:session') ? parseRowName(name) : null;
    return row?.kind !== 'window' || row.type === 'monthly' || row.start === session;
  });
  return Object.fromEntries(kept.map(([name, { value, version }]) => [name, { value, version }]));
}
