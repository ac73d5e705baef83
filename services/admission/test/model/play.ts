import { BODY_REFUSAL_CODES } from '@gateway/contracts/errors';
import { SESSION_5H_MS, WEEK_MS, monthEnd, monthOf, weekStart } from '@gateway/metering';
import type { AdmitEntry, BatchAnswer, HoldFields, ReleaseEntry, BalanceSnapshot } from '@gateway/contracts/messages';
import { testEpoch } from '@gateway/testkit/random';
import { findBucketKeys } from '../../src/limit-store/key-rules.js';
import { Disagreement, StateReader, agree, agreeOnAnswer, requireFunds, requireSettled } from './compare.js';
import type { Sums } from './compare.js';
import type { ModelEntry } from './model-limit-store.js';
import { modelUsage, usageRefusal, usageRows } from './model-usage.js';
import { BOUNDS, COST_MAX, ENDPOINTS, MODELS, NO_PLAN, PLANS_TOTAL, planTerms, renewing } from './scene.js';
import { EDGES, releaseOf } from './stage.js';
import type { EdgeCall, EndedCall, Stage } from './stage.js';
import { AUTHOR, PRICE } from '../world.js';
import { Choices } from './steps.js';
import type { Step, StepKind } from './steps.js';

const AMOUNTS_PER_CENT = [100, 0, 40, 100, 130];
const FIRST_CREDITS = [0, 30 * PRICE, 4 * PRICE, 200 * PRICE];
/** Initial states: each initial credit, without a plan and with each plan. */
export const SCENES = FIRST_CREDITS.length * (1 + PLANS_TOTAL);
const CREDITS = [10 * PRICE, 3 * PRICE, 40 * PRICE, -4 * PRICE];
const CAPS = [null, 9 * PRICE, 4 * PRICE];
/** Number of choices of a body. The last ones are the body refusals. */
const BODIES = 50;
/** Errors of the edge's clock. The last two are too large. */
const SKEWS_MS = [0, 2_000, -2_000, -30_000, 30_000, -30_001, 30_001];
const SPANS_MS = [1, 999, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 3_600_000, 86_400_000];

/** Plays a sequence to the real admission and to the model, and compares them after each step. */
export class Play {
  /** Events so far. Their texts are built only on request. */
  readonly log: (() => string)[] = [];
  /** Snapshots that were published once, for duplicates and late arrivals. */
  readonly #reader = new StateReader();
  readonly #said: BalanceSnapshot[] = [];
  readonly #untold: (() => Promise<void>)[] = [];
  readonly #opened: { id: string; digest: string }[] = [];
  readonly #asked: { entry: AdmitEntry; edge: string }[] = [];
  readonly #unsent: EndedCall[] = [];
  #period = 0;
  #lastAdmitted: HoldFields | null = null;
  #choices = new Choices([]);

  constructor(
    private readonly stage: Stage,
    private readonly see: (answer: string) => void,
  ) {}

  /** @param scene wallet and plan at the beginning */
  async begin(scene: number): Promise<void> {
    const { ledger, now } = this.stage;
    await this.stage.restore();
    const credit = FIRST_CREDITS[scene % FIRST_CREDITS.length] ?? 0;
    if (credit !== 0) await this.#publishSnapshot(ledger.credit(credit));
    const plan = Math.floor(scene / FIRST_CREDITS.length);
    if (plan > 0)
      await this.#publishSnapshot(ledger.changeTerms(planTerms(plan - 1, (this.#period += 1), now - 90_000, scene)));
  }

  async step(step: Step): Promise<void> {
    this.#choices = new Choices(step.choices);
    this.#lastAdmitted = null;
    const { limitStore, now } = this.stage;
    const before = limitStore.scriptsRun;
    await this[HANDLERS[step.kind]]();
    if (limitStore.scriptsRun > before || this.stage.now !== now) await this.#check();
  }

  /**
   * One minute after the last call no slot is taken and no hold is left; three minutes if edges
   * died (docs/protocol.md#i7).
   */
  async end(): Promise<void> {
    const { stage } = this;
    this.#lastAdmitted = null;
    // Half of the running calls end without a message to admission. The others die with their edge.
    for (const call of stage.running.filter((_call, index) => index % 2 === 0)) {
      this.#store(this.#endCall(call, 'ok', costOf(call)));
    }
    for (const call of this.#unsent.splice(0)) this.#store(call);
    for (const event of [...stage.ledger.stream]) stage.ledger.settle(event);
    for (const ms of [60_000, 60_000, 5_000, 55_000]) {
      stage.moveTo(stage.now + ms);
      await this.sweep();
      for (const event of [...stage.ledger.stream]) await this.#publishSnapshot(stage.ledger.settle(event));
    }
    const { slots, held } = await this.#check();
    agree(
      'what is left at the end',
      { slots, held, holds: stage.model.state.holds.size },
      { slots: 0, held: {}, holds: 0 },
    );
  }

  async admit(): Promise<void> {
    const { stage } = this;
    const choices = this.#choices;
    const last = choices.rarely(12, 3) ? this.#opened.pop() : undefined;
    // A late call gets a fault, regardless of loads.
    const opened = last && this.stage.model.isLoaded([last.digest]) ? last : undefined;
    const digest = opened?.digest ?? this.#digest();
    const bodyRefusal = BODY_REFUSAL_CODES[BODIES - 1 - choices.of(BODIES, 2)] ?? null;
    const calls = choices.rarely(6, 3) && !opened ? 4 : 1;
    const skew = stage.model.isLoaded([digest]) ? (SKEWS_MS[choices.of(80, 3)] ?? 0) : 0;
    const call = {
      digests: choices.rarely(9, 3) ? ['f'.repeat(64), digest] : [digest],
      endpoint: choices.pick(ENDPOINTS, 1) ?? '/v1/messages',
      model: bodyRefusal === null ? (choices.pick(MODELS, 1) ?? null) : null,
      bounds: bodyRefusal === null ? (choices.pick(BOUNDS, 2) ?? null) : null,
      bodyRefusal,
      opened: opened !== undefined,
      traceparent: undefined,
    };
    const entries = Array.from({ length: calls }, (): AdmitEntry => ({
      ...call,
      id: opened?.id ?? stage.newId(stage.now + skew),
    }));
    const edge = this.#edge(0);
    const down = choices.of(40, 2);
    if (down === 39) stage.ledger.down = true;
    if (down === 38 && stage.ledger.stream.length === 0) stage.directory.down = true;
    const lost = choices.rarely(16, 2);
    for (const entry of entries) this.#asked.push({ entry, edge });
    await this.#batch(
      choices.of(2, 0),
      edge,
      entries.map((body) => ({ open: false, body })),
      lost,
    );
    stage.ledger.down = false;
    stage.directory.down = false;
  }

  async open(): Promise<void> {
    const digest = this.#digest();
    const id = this.stage.newId(this.stage.now);
    this.#opened.push({ id, digest });
    await this.#batch(this.#choices.of(2, 0), EDGES[0], [{ open: true, body: { id, digests: [digest] } }], false);
  }

  /** Repeats an entry for a call that runs, has ended, was refused or was never answered. */
  async repeat(): Promise<void> {
    const opened = this.#choices.rarely(5, 1) ? this.#opened.at(-1) : undefined;
    if (opened) {
      if (!this.stage.model.isLoaded([opened.digest])) return;
      const body = { id: opened.id, digests: [opened.digest] };
      return this.#batch(this.#choices.of(2, 0), EDGES[0], [{ open: true, body }], false);
    }
    const asked = this.#choices.pick(this.#asked.slice(-6), 0);
    if (!asked || !this.stage.model.isLoaded(asked.entry.digests)) return;
    const { entry, edge } = asked;
    await this.#batch(this.#choices.of(2, 0), edge, [{ open: false, body: entry }], false);
  }

  async endCall(): Promise<void> {
    const call = this.#choices.pick(this.stage.running, 0);
    if (!call || this.stage.deadEdges.has(call.edge)) return;
    const share = AMOUNTS_PER_CENT[this.#choices.of(AMOUNTS_PER_CENT.length, 1)] ?? 100;
    const outcome = this.#choices.rarely(4, 1) ? 'void' : 'ok';
    const ended = this.#endCall(call, outcome, Math.floor((costOf(call) * share) / 100));
    if (this.#choices.rarely(5, 2)) this.#unsent.push(ended);
    else this.#store(ended);
    if (this.#choices.rarely(4, 3)) this.stage.unreleased.push(ended);
    else await this.#release(releaseOf(ended));
  }

  /** Delivers a release that was lost, or repeats one that was answered long ago. */
  async releaseAgain(): Promise<void> {
    const late = this.stage.unreleased.shift();
    if (this.#unsent.length > 0 && this.#choices.rarely(2, 1)) this.#store(this.#unsent.shift());
    const call = late ?? this.#choices.pick(this.stage.ended, 0);
    if (call) await this.#release(releaseOf(call));
  }

  async releaseBlind(): Promise<void> {
    const asked = this.#choices.pick(this.#asked.slice(-4), 0);
    if (!asked || asked.entry.endpoint === '/v1/messages/count_tokens') return;
    const { id, digests } = asked.entry;
    const at = this.stage.running.findIndex((call) => call.id === id);
    if (at >= 0) this.stage.running.splice(at, 1);
    await this.#release({ blind: true, id, digests });
  }

  async settle(): Promise<void> {
    const { stream } = this.stage.ledger;
    const some = this.#choices.rarely(2, 2) ? [...stream] : [this.#choices.pick(stream, 0)];
    for (const event of some) {
      if (!event) continue;
      const snapshot = this.stage.ledger.settle(event);
      if (this.#choices.rarely(8, 1)) stream.push({ ...event });
      await this.#tell(snapshot);
    }
  }

  /** Delivers a message late or again. */
  async deliver(): Promise<void> {
    const at = this.#choices.of(Math.max(1, this.#untold.length), 0);
    const [untold] = this.#untold.splice(at, 1);
    if (untold) return untold();
    const said = this.#choices.pick(this.#said, 1);
    if (said) await this.#publishSnapshot(said);
  }

  async heartbeat(): Promise<void> {
    const { stage } = this;
    const edge = this.#edge(0);
    if (stage.deadEdges.has(edge)) return;
    const all = stage.running.filter((call) => call.edge === edge);
    const calls = this.#choices.rarely(3, 1) ? all.slice(1) : all;
    // A call that ended while its heartbeat was in flight.
    const ended = this.#choices.rarely(6, 1) ? stage.ended.filter((call) => call.edge === edge).slice(-1) : [];
    const heartbeat = stage.heartbeatOf(edge, [...calls, ...ended], []);
    await stage.replicas[this.#choices.of(2, 2)]?.heartbeat(heartbeat);
    const abort = stage.model.heartbeat(edge, heartbeat.calls, false);
    for (const release of heartbeat.releases) stage.model.release(0, release);
    const heartbeatReply = stage.heartbeatReplies.at(-1);
    agree('abort', heartbeatReply?.abort, abort);
    agree('released', [...(heartbeatReply?.released ?? [])].sort(), heartbeat.releases.map(({ id }) => id).sort());
    for (const { epoch } of heartbeatReply?.epochs ?? []) for (const call of calls) call.callEpoch = epoch;
    for (const { id } of heartbeat.releases) this.#released(id);
    this.#note(() => `${edge}: ${heartbeat.calls.length} calls, ${heartbeat.releases.length} releases`);
  }

  async sweep(): Promise<void> {
    const { stage } = this;
    stage.expired.length = 0;
    // The script builds all its queries before any of their results is recorded.
    const due = stage.model.sweep().filter((hold) => !stage.isNamed(hold));
    const expected = due.map(({ id }) => id);
    await stage.sweep();
    agree('expired', [...stage.expired].sort(), expected.sort());
  }

  async credit(): Promise<void> {
    await this.#tell(this.stage.ledger.credit(CREDITS[this.#choices.of(CREDITS.length, 0)] ?? PRICE));
  }

  /** Changes, renews, begins or ends a plan. */
  async terms(): Promise<void> {
    const { ledger, now } = this.stage;
    const known = ledger.terms.value.subscription;
    const plan = this.#choices.of(5, 0);
    const moved = this.#choices.of(3, 1);
    const begin = now - (this.#choices.of(2, 1) && 90_000);
    let terms = planTerms(plan, (this.#period += 1), begin, this.#choices.of(8, 2));
    if (this.#choices.rarely(6, 3)) return this.#tell(ledger.changeTerms(NO_PLAN));
    if (moved > 0 && known) terms = { ...terms, subscription: known };
    if (this.#choices.rarely(2, 0)) {
      // The next period begins at the end, a minute after it, or earlier.
      const start = (terms.subscription?.end ?? now) + ([0, 0, 60_000, -60_000][this.#choices.of(4, 0)] ?? 0);
      terms = renewing(terms, planTerms(this.#choices.of(5, 0), (this.#period += 1), start, this.#choices.of(4, 2)));
    }
    await this.#tell(ledger.changeTerms(terms));
  }

  async key(): Promise<void> {
    const { directory, now } = this.stage;
    const index = this.#choices.of(3, 0);
    const cap = CAPS[this.#choices.of(CAPS.length, 1)] ?? null;
    const change = [
      { capNanoUsd: cap },
      { digest: directory.newDigest() },
      { allowedModels: cap === null ? null : ['acme/fixed', 'acme/off'] },
      { state: directory.keys[index]?.state === 'suspended' ? ('active' as const) : ('suspended' as const) },
      { expiresAt: now + (SPANS_MS[this.#choices.of(SPANS_MS.length, 2)] ?? 0) },
      { expiresAt: null, state: 'active' as const },
      index === 1 ? { state: 'revoked' as const } : { capNanoUsd: cap },
    ][this.#choices.of(7, 3)];
    const record = directory.changeKey(index, change ?? {});
    this.#say(
      `key ${JSON.stringify(change)}`,
      () => ({ keys: [record] }),
      () => this.stage.model.tellKey(record),
    );
    await this.#sayNow();
  }

  async account(): Promise<void> {
    const { directory, model } = this.stage;
    if (this.#choices.rarely(3, 0)) {
      const record = directory.changeState(directory.record.state === 'active' ? 'suspended' : 'active');
      this.#say(
        `account ${record.state}`,
        () => ({ accounts: [record] }),
        () => model.state.applyAccount(record),
      );
    } else {
      const record = directory.changeMember(this.#choices.of(2, 1), CAPS[this.#choices.of(CAPS.length, 2)] ?? null);
      this.#say(
        `member ${record.capNanoUsd}`,
        () => ({ members: [record] }),
        () => model.state.applyMember(record),
      );
    }
    await this.#sayNow();
  }

  pass(): void {
    const back = this.#choices.rarely(8, 1);
    this.stage.moveTo(this.stage.now + (back ? -2_000 : (SPANS_MS[this.#choices.of(SPANS_MS.length, 0)] ?? 1)));
    this.#noteTime();
  }

  /** Moves the time to the last millisecond of a span, to its end, or just after it. */
  boundary(): void {
    const { now, model, directory } = this.stage;
    const { session, terms, holds } = model.state;
    const ends = [
      Math.floor(now / 60_000) * 60_000 + 60_000,
      (session ?? now) + SESSION_5H_MS,
      terms.value.subscription?.end ?? 0,
      terms.value.next?.subscription.start ?? 0,
      weekStart(now) + WEEK_MS,
      monthEnd(monthOf(now)),
      ...directory.keys.map(({ expiresAt }) => expiresAt ?? 0),
      ...[...holds.values()].flatMap(({ lease, due, queryAt }) => [lease, due, queryAt]),
    ];
    const end =
      this.#choices.pick(
        ends.filter((time) => time > now),
        0,
      ) ?? now;
    this.stage.moveTo(end - 1 + this.#choices.of(3, 1));
    this.#noteTime();
  }

  async lose(): Promise<void> {
    const { stage } = this;
    const dataToo = !this.#choices.rarely(3, 0);
    if (dataToo) await stage.limitStore.flush();
    else stage.limitStore.failOver();
    stage.model.lose(dataToo);
    this.#note(() => (dataToo ? 'everything' : 'the epoch'));
    if (this.#choices.rarely(3, 1)) await this.admit();
    await stage.restore();
    // Billing usually catches up soon. Until then, calls of an unloaded account get a fault.
    if (this.#choices.rarely(3, 2)) return;
    for (const event of [...stage.ledger.stream]) await this.#tell(stage.ledger.settle(event));
  }

  async takeBack(): Promise<void> {
    const call = this.#choices.pick(this.stage.running, 0);
    if (!call) return;
    const answer = await this.stage.replicas[0]?.releaseSlot({ requestId: call.id, author: AUTHOR });
    const taken = this.stage.model.takeBack(call.id);
    agree('taken back', answer && 'released' in answer, taken);
  }

  /** Requests the usage of an account that may not be loaded. */
  async usage(): Promise<void> {
    const index = this.#choices.of(2, 0);
    const digest = this.#digest();
    // The request alone may cause a load, which the model performs by an uncounted `open` entry.
    await this.#agreeOnUsage(index, digest);
  }

  killEdge(): void {
    const edge = EDGES[1];
    this.stage.deadEdges.add(edge);
    const kept = this.stage.kept.get(edge);
    if (kept) this.stage.kept.set(edge, { ...kept, storedAtMs: kept.storedAtMs - 3_600_000 });
  }

  pause(): void {}

  #digest(): string {
    const { directory } = this.stage;
    const key = directory.keys[[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 0][this.#choices.of(12, 0)] ?? 0];
    if (this.#choices.rarely(30, 0)) return 'e'.repeat(64);
    if (this.#choices.rarely(25, 0)) return directory.firstDigest(key?.key ?? '');
    return key?.digest ?? '';
  }

  #note(say: () => string): void {
    this.log.push(() => `  ${say()}`);
  }

  #noteTime(): void {
    const { now } = this.stage;
    this.#note(() => `to ${new Date(now).toISOString()}`);
  }

  #edge(source: number): string {
    return this.#choices.of(2, source) === 0 ? EDGES[0] : EDGES[1];
  }

  async #batch(replica: number, edge: string, entries: readonly ModelEntry[], lost: boolean): Promise<void> {
    const { stage } = this;
    const answers = new Map<string, BatchAnswer>();
    await stage.replicas[replica]?.batch(
      {
        edge,
        opens: entries.flatMap(({ open, body }) =>
          open ? [{ id: body.id, digests: [...body.digests], traceparent: undefined }] : [],
        ),
        admits: entries.flatMap((entry) => (entry.open ? [] : [entry.body])),
        releases: [],
      },
      (reply) => reply.answers.forEach((answer) => answers.set(answer.id, answer as BatchAnswer)),
    );
    // Equal calls of one batch are decided in any order. The model decides the admitted ones first
    // and those of a full minute last.
    const turn = ({ body: { id } }: ModelEntry) => {
      const answer = answers.get(id);
      return answer?.kind !== 'refused' ? 0 : answer.code === 'rate_limited' ? 2 : 1;
    };
    for (const entry of [...entries].sort((one, other) => turn(one) - turn(other))) {
      const expected = stage.model.decide(replica, edge, entry);
      const real = answers.get(entry.body.id);
      this.#note(() => JSON.stringify([edge, entry.open ? 'open' : entry.body, real]));
      if (!real) throw new Disagreement('no answer');
      agreeOnAnswer(stage, real, expected, entry.open ? null : entry.body.endpoint);
      this.see(nameOf(real));
      if (lost || real.kind !== 'admitted' || !real.hold || stage.running.some(({ id }) => id === real.id)) continue;
      if (stage.ended.some(({ id }) => id === real.id)) continue;
      stage.running.push({ id: real.id, hold: real.hold, callEpoch: real.epoch, edge });
    }
    const answer = answers.get(entries.at(-1)?.body.id ?? '');
    const isNew = answer?.kind === 'admitted' && !answer.repeated;
    this.#lastAdmitted = isNew ? answer.hold : null;
  }

  async #release(release: ReleaseEntry): Promise<void> {
    const { stage } = this;
    const replica = this.#choices.of(2, 3);
    const released: string[] = [];
    const processNow = stage.clock.now();
    await stage.replicas[replica]?.batch(
      { edge: EDGES[0], opens: [], admits: [], releases: [release] },
      (reply) => void released.push(...reply.released),
    );
    const isDone = stage.model.release(replica, release, processNow);
    agree('released', released, isDone ? [release.id] : []);
    if (isDone) this.#released(release.id);
  }

  #released(id: string): void {
    const at = this.stage.unreleased.findIndex((call) => call.id === id);
    if (at >= 0) this.stage.unreleased.splice(at, 1);
  }

  #endCall(call: EdgeCall, outcome: 'ok' | 'void', amountNanoUsd: number): EndedCall {
    const { running, ended } = this.stage;
    running.splice(running.indexOf(call), 1);
    const end = { ...call, outcome, amountNanoUsd: outcome === 'ok' ? amountNanoUsd : 0 };
    ended.push(end);
    return end;
  }

  #store(call: EndedCall | undefined): void {
    if (!call) return;
    const { id, hold, outcome, amountNanoUsd } = call;
    const settled = outcome === 'ok';
    this.stage.ledger.stream.push({ id, rank: 2, hold, settled, amountNanoUsd, storedAt: this.stage.now });
  }

  /** Publishes the snapshot now, later or never. */
  async #tell(snapshot: BalanceSnapshot): Promise<void> {
    if (this.#choices.rarely(4, 3)) this.#untold.push(() => this.#publishSnapshot(snapshot));
    else if (this.#choices.rarely(10, 3)) this.#said.push(snapshot);
    else await this.#publishSnapshot(snapshot);
  }

  async #publishSnapshot(snapshot: BalanceSnapshot): Promise<void> {
    this.#said.push(snapshot);
    const { stage } = this;
    this.#note(() => JSON.stringify(snapshot));
    await stage.replicas[snapshot.rows.length % 2]?.applySnapshots({ ledgerEpoch: testEpoch(1), accounts: [snapshot] });
    stage.model.applyBalanceSnapshots(snapshot);
  }

  #say(text: string, update: () => object, apply: () => void): void {
    this.#untold.push(async () => {
      this.#note(() => text);
      await this.stage.replicas[0]?.apply(update());
      apply();
    });
  }

  /** Usually publishes the last delayed snapshot. */
  async #sayNow(): Promise<void> {
    if (!this.#choices.rarely(4, 3)) await this.#untold.pop()?.();
  }

  async #check(): Promise<Sums> {
    const { stage } = this;
    const { accounts, holds } = findBucketKeys(stage.bucket);
    const dumped = stage.limitStore.dump(accounts + stage.account, holds + stage.account);
    const [[fields, stored]] = await Promise.all([dumped, this.#usageCheck()]);
    const sums = this.#reader.agree(fields, stored, stage.model.state, stage.now);
    requireSettled(sums, stage.model);
    if (this.#lastAdmitted) requireFunds(sums, this.#lastAdmitted, stage.model.state);
    return sums;
  }

  /** Checks the usage endpoint if the request changes nothing. */
  async #usageCheck(): Promise<void> {
    const { stage } = this;
    const { state } = stage.model;
    const replica = (stage.ended.length + stage.running.length) % 2;
    const [key] = stage.directory.keys;
    const digest = key?.digest ?? '';
    if (stage.model.readsWithoutLoad(replica, [digest], usageRows(state, stage.now)))
      await this.#agreeOnUsage(replica, digest);
  }

  async #agreeOnUsage(replica: number, digest: string): Promise<void> {
    const { stage } = this;
    const { state } = stage.model;
    const expected = stage.model.readUsage(
      replica,
      digest,
      (key) => usageRefusal(state, key, digest, stage.now) !== null,
      () => usageRows(state, stage.now),
    );
    const answer = await stage.replicas[replica]?.usage({ id: stage.newId(stage.now), digests: [digest] });
    if (answer?.kind !== 'usage') {
      const real = answer?.kind === 'refused' ? { code: answer.code, facts: answer.facts } : answer;
      const refusal =
        typeof expected === 'string' ? expected : expected && usageRefusal(state, expected, digest, stage.now);
      agree('usage', answer?.kind === 'fault' ? answer.code : real, refusal ?? { code: 'invalid_api_key', facts: {} });
      return;
    }
    const { kind, account, key, ...facts } = answer;
    if (expected === null || typeof expected === 'string') throw new Disagreement(`usage: ${kind} for nobody`);
    agree(
      'usage',
      { account, key, ...facts },
      { account: stage.account, key: expected.key, ...modelUsage(state, expected, stage.now) },
    );
  }
}

/** Providers bill their actual use, even above the allowed amount. */
function costOf({ hold }: EdgeCall): number {
  return Math.min(hold.worstNanoUsd, COST_MAX);
}

function nameOf(answer: BatchAnswer): string {
  if (answer.kind === 'refused') return answer.code;
  if (answer.kind === 'fault') return answer.code;
  if (answer.kind !== 'admitted') return answer.kind;
  if (answer.hold === null) return 'counted';
  const paid = answer.hold.walletMaxNanoUsd === null ? 'wallet' : answer.hold.walletMaxNanoUsd > 0 ? 'both' : 'plan';
  return `${answer.repeated ? 'repeated' : 'admitted'} ${paid}`;
}

const HANDLERS: Record<StepKind, 'endCall' | Exclude<StepKind, 'end'>> = {
  pause: 'pause',
  admit: 'admit',
  open: 'open',
  repeat: 'repeat',
  end: 'endCall',
  releaseAgain: 'releaseAgain',
  releaseBlind: 'releaseBlind',
  settle: 'settle',
  deliver: 'deliver',
  heartbeat: 'heartbeat',
  sweep: 'sweep',
  credit: 'credit',
  terms: 'terms',
  key: 'key',
  account: 'account',
  pass: 'pass',
  boundary: 'boundary',
  lose: 'lose',
  takeBack: 'takeBack',
  usage: 'usage',
  killEdge: 'killEdge',
};
