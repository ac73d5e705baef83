import { bucketOfAccount } from '@gateway/contracts/ids';
import type { BatchAnswer } from '@gateway/contracts/messages';
import type { AdmissionBatch, AdmissionBatchAnswer, Beat, BusLine, Told } from '../src/ports.js';
import { FakeGate, TEST_ACCOUNT } from './fake-admission.js';

export interface SentBatch {
  readonly batch: AdmissionBatch;
  readonly replica: string | undefined;
  readonly answer: (answer: Partial<AdmissionBatchAnswer>) => void;
  readonly fault: (code: string) => void;
  isClosed: boolean;
}

/** A bus whose answers, faults and times a test decides. */
export class FakeLine implements BusLine {
  readonly sent: SentBatch[] = [];
  readonly stored: { shard: number; message: Buffer; settle: (code?: string) => void }[] = [];
  readonly beats: Beat[] = [];
  readonly healths: Told<'health'>[] = [];
  readonly mirrored: Told<'mirrored'>[] = [];

  askAdmission(
    batch: AdmissionBatch,
    on: { answer(answer: AdmissionBatchAnswer): void; fault(code: string): void },
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

  storeUsage(shard: number, message: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (code?: string): void =>
        code === undefined ? resolve() : reject(Object.assign(new Error(code), { code }));
      this.stored.push({ shard, message, settle });
    });
  }

  async storeBeat(beat: Beat): Promise<void> {
    this.beats.push(beat);
  }

  tellHealth(health: Told<'health'>): void {
    this.healths.push(health);
  }

  tellMirrored(mirrored: Told<'mirrored'>): void {
    this.mirrored.push(mirrored);
  }
}

/** An admission under a token. */
export function admittedUnder(token: string, id: string): BatchAnswer {
  const gate = new FakeGate();
  gate.token = token;
  const entry = {
    id,
    digests: ['0'.repeat(64)],
    endpoint: '/v1/chat/completions' as const,
    model: 'pub/model',
    bounds: null,
    bodyRefusal: null,
    opened: false,
  };
  return gate.admitted(entry);
}

export const TEST_BUCKET = bucketOfAccount(TEST_ACCOUNT);
