import type { Bus } from '@gateway/bus';
import type { RefusalCode } from '@gateway/contracts/errors';
import { bucketOfAccount } from '@gateway/contracts/ids';
import {
  admissionAuthorize,
  admissionBatch,
  admissionUsage,
  edgeHeartbeat,
  edgeResyncRequest,
  edgeHeartbeatReply,
  edgeShortHeartbeat,
  type AdmitEntry,
  type AnswerBodyOf,
  type BatchAnswer,
  type HoldFields,
  type PricedVersion,
  type ReceivedOf,
  type ReleaseEntry,
} from '@gateway/contracts/messages';
import type { Heartbeat } from '../src/ports.js';

type Batch = ReceivedOf<typeof admissionBatch>;
type OpenEntry = Batch['opens'][number];
type Reply = (answer: AnswerBodyOf<typeof admissionBatch>) => void;

export const TEST_ACCOUNT = 'acc-test';
export const TEST_PRICE: PricedVersion = {
  version: 'price-1',
  figures: {
    inputPerMillion: 1_000_000_000,
    cachedInputPerMillion: null,
    cacheWritePerMillion: null,
    cacheWrite1hPerMillion: null,
    outputPerMillion: 2_000_000_000,
    perCall: 0,
    tiers: [],
  },
};

/** The state that all replicas of the fake admission share, like the limit store. */
export class FakeAdmission {
  epoch = 'run1-0001';
  /** Source IDs in the admission of a model. */
  readonly sources = new Map<string, string[]>();
  /** Price in the admission of a model, instead of {@link TEST_PRICE}. */
  readonly prices = new Map<string, PricedVersion>();
  readonly batches: { replica: string; batch: Batch }[] = [];
  readonly releases: ReleaseEntry[] = [];
  readonly heartbeats: Heartbeat[] = [];
  readonly admits: { replica: string; entry: AdmitEntry }[] = [];
  readonly holds = new Map<string, HoldFields>();
  /** Decides about an entry. `undefined` admits it, null sends no answer. */
  decide: (entry: AdmitEntry, replica: string) => BatchAnswer | null | undefined = () => undefined;
  decideOpen: (entry: OpenEntry, replica: string) => BatchAnswer | null | undefined = () => undefined;
  /** Whether releases are answered. */
  answersReleases = true;
  /** The account of admitted calls. */
  account = TEST_ACCOUNT;
  /** Offset of the limit store's clock. */
  clockOffsetMs = 0;
  /** Can delay an answer; called with the function that sends it. */
  deliver: (send: () => void, replica: string) => void = (send) => send();
  authorize: AnswerBodyOf<typeof admissionAuthorize> = {
    kind: 'authorized',
    account: TEST_ACCOUNT,
    key: 'key-1',
    allowedModels: null,
    planModels: null,
    walletAboveZero: true,
  };
  usage: AnswerBodyOf<typeof admissionUsage> | null = null;

  get bucket(): number {
    return bucketOfAccount(TEST_ACCOUNT);
  }

  admitted(entry: AdmitEntry): BatchAnswer {
    const isBilled = entry.endpoint !== '/v1/messages/count_tokens';
    const hold = this.holds.get(entry.id) ?? holdOf(entry, Date.now() + this.clockOffsetMs);
    const repeated = this.holds.has(entry.id);
    if (isBilled) this.holds.set(entry.id, hold);
    const sources = this.sources.get(entry.model ?? '') ?? ['src-a'];
    return {
      kind: 'admitted',
      id: entry.id,
      account: this.account,
      bucket: this.bucket,
      epoch: this.epoch,
      hold: isBilled ? hold : null,
      price: isBilled ? (this.prices.get(entry.model ?? '') ?? TEST_PRICE) : null,
      sources,
      repeated,
    };
  }
}

/** Serves a replica of admission that follows the contract and records its messages. */
export function serveFakeAdmission(bus: Bus, admission: FakeAdmission): void {
  bus.serveMany(admissionBatch, (batch, reply) => answerBatch(bus, admission, batch, reply), {
    concurrencyMax: 10_000,
  });
  bus.serve(admissionAuthorize, async () => admission.authorize);
  bus.serve(admissionUsage, async () => {
    if (admission.usage === null) throw new Error('no usage was set');
    return admission.usage;
  });
  const take = (heartbeat: Heartbeat): void => {
    admission.heartbeats.push(heartbeat);
    admission.releases.push(...heartbeat.releases);
  };
  for (const kind of [edgeHeartbeat, edgeShortHeartbeat]) bus.subscribe(kind, take, { queue: true });
}

/** Sends a heartbeat reply. */
export function sendHeartbeatReply(
  bus: Bus,
  admission: FakeAdmission,
  heartbeat: Heartbeat,
  reply: { abort?: string[]; released?: string[]; epoch?: string } = {},
): void {
  bus.publish(
    edgeHeartbeatReply,
    { edge: heartbeat.edge },
    {
      n: heartbeat.n,
      chunk: heartbeat.chunk,
      epochs: [{ bucket: admission.bucket, epoch: reply.epoch ?? admission.epoch }],
      abort: reply.abort ?? [],
      released: reply.released ?? [],
      now: Date.now() + admission.clockOffsetMs,
    },
  );
}

export function sendResyncRequest(bus: Bus, admission: FakeAdmission): void {
  bus.publish(edgeResyncRequest, {}, { epochs: [{ bucket: admission.bucket, epoch: admission.epoch }] });
}

function answerBatch(bus: Bus, admission: FakeAdmission, batch: Batch, reply: Reply): void {
  admission.batches.push({ replica: bus.replica, batch });
  const answers: BatchAnswer[] = [];
  for (const entry of batch.opens) {
    const decided = admission.decideOpen(entry, bus.replica);
    if (decided === null) continue;
    answers.push(
      decided ?? {
        kind: 'opened',
        id: entry.id,
        account: TEST_ACCOUNT,
        bucket: admission.bucket,
        epoch: admission.epoch,
      },
    );
  }
  for (const entry of batch.admits) {
    admission.admits.push({ replica: bus.replica, entry });
    const decided = admission.decide(entry, bus.replica);
    if (decided === null) continue;
    answers.push(
      decided ?? (entry.bodyRefusal === null ? admission.admitted(entry) : makeRefusal(entry.id, entry.bodyRefusal)),
    );
  }
  admission.releases.push(...batch.releases);
  const released = admission.answersReleases ? batch.releases.map(({ id }) => id) : [];
  if (answers.length === 0 && released.length === 0) return;
  admission.deliver(
    () => reply({ replica: bus.replica, now: Date.now() + admission.clockOffsetMs, answers, released }),
    bus.replica,
  );
}

export function makeRefusal(id: string, code: RefusalCode): BatchAnswer {
  return { kind: 'refused', id, code, facts: {} };
}

function holdOf(entry: AdmitEntry, now: number): HoldFields {
  return {
    account: TEST_ACCOUNT,
    key: 'key-1',
    member: 'mem-1',
    model: entry.model ?? 'pub/none',
    priceVersion: TEST_PRICE.version,
    worstNanoUsd: 50_000_000,
    planMaxNanoUsd: 0,
    walletMaxNanoUsd: null,
    periods: { month: '2026-11', session5h: null, weekly: null, subscription: null },
    windows: [],
    allotment: null,
    admittedAt: now,
  };
}
