import { bucketOfAccount } from '@gateway/contracts/ids';
import type { BatchAnswer } from '@gateway/contracts/messages';
import type {
  AdmissionBatch,
  AdmissionBatchReply,
  Heartbeat,
  BusClient,
  HealthMessage,
  QuotaEntry,
} from '../src/ports.js';
import { FakeAdmission, TEST_ACCOUNT } from './fake-admission.js';

export interface SentBatch {
  readonly batch: AdmissionBatch;
  readonly replica: string | undefined;
  readonly answer: (answer: Partial<AdmissionBatchReply>) => void;
  readonly fault: (code: string) => void;
  isClosed: boolean;
}

/** A bus client whose answers, faults and times the test controls. */
export class FakeBusClient implements BusClient {
  readonly sent: SentBatch[] = [];
  readonly stored: { group: number; message: Buffer; finish: (code?: string) => void }[] = [];
  readonly heartbeats: Heartbeat[] = [];
  readonly places: string[] = [];
  readonly healths: HealthMessage[] = [];

  requestAdmission(
    batch: AdmissionBatch,
    on: { answer(answer: AdmissionBatchReply): void; fault(code: string): void },
    options: { replica: string | undefined },
  ): { close(): void } {
    const sent: SentBatch = {
      batch,
      replica: options.replica,
      answer: (answer) => on.answer({ replica: 'a0', now: Date.now(), answers: [], released: [], ...answer }),
      fault: (code) => on.fault(code),
      isClosed: false,
    };
    this.sent.push(sent);
    return { close: () => (sent.isClosed = true) };
  }

  authorize(): Promise<never> {
    return Promise.reject(new Error('not asked in this test'));
  }

  usage(): Promise<never> {
    return Promise.reject(new Error('not asked in this test'));
  }

  storeUsage(group: number, message: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (code?: string): void =>
        code === undefined ? resolve() : reject(Object.assign(new Error(code), { code }));
      this.stored.push({ group, message, finish });
    });
  }

  async storeHeartbeat(heartbeat: Heartbeat, place: string): Promise<void> {
    this.heartbeats.push(heartbeat);
    this.places.push(place);
  }

  readonly answers = new Map<string, string>();

  async putAnswer(key: string, source: string): Promise<void> {
    this.answers.set(key, source);
  }

  async getAnswer(key: string): Promise<string | null> {
    return this.answers.get(key) ?? null;
  }

  confirmAnswer(key: string): Promise<string | null> {
    return this.getAnswer(key);
  }

  async countAnswers(): Promise<number> {
    return this.answers.size;
  }

  readonly quotas = new Map<string, QuotaEntry>();

  async readQuota(source: string): Promise<QuotaEntry | null> {
    return this.quotas.get(source) ?? null;
  }

  async replaceQuota(source: string, value: string, revision: number): Promise<boolean> {
    if ((this.quotas.get(source)?.revision ?? 0) !== revision) return false;
    this.quotas.set(source, { value, revision: revision + 1 });
    return true;
  }

  publishHealth(health: HealthMessage): void {
    this.healths.push(health);
  }
}

/** Returns an admission under an epoch. */
export function makeAdmission(epoch: string, id: string): BatchAnswer {
  const admission = new FakeAdmission();
  admission.epoch = epoch;
  const entry = {
    id,
    digests: ['0'.repeat(64)],
    endpoint: '/v1/chat/completions' as const,
    model: 'pub/model',
    bounds: null,
    bodyRefusal: null,
    opened: false,
  };
  return admission.admitted(entry);
}

export const TEST_BUCKET = bucketOfAccount(TEST_ACCOUNT);
