import { BusFault, connectBus } from '@gateway/bus';
import type { RefusalCode } from '@gateway/contracts/errors';
import type { Bus } from '@gateway/bus';
import { BATCH_ENTRIES_MAX, admissionBatch } from '@gateway/contracts/messages';
import type { AdmitEntry, AdmittedAnswer, BatchAnswer, ReleaseEntry } from '@gateway/contracts/messages';
import { digestOfSecret, makeUuidV7 } from '@gateway/contracts/ids';
import { silentLog, until } from '@gateway/testkit';
import type { OwnSystem } from '../../test/own-system.js';

/** Admission's answers to the entries of one sender. */
export interface DirectAnswers {
  /** By ID, so that an ID that was sent twice is counted once. */
  readonly admitted: ReadonlyMap<string, AdmittedAnswer>;
  /** IDs by the code of their refusal. */
  readonly refused: ReadonlyMap<RefusalCode, ReadonlySet<string>>;
  /** Number of stored answers to repeated IDs. */
  readonly repeated: number;
  readonly replicas: ReadonlySet<string>;
}

interface DirectBatch {
  readonly admits: AdmitEntry[];
  readonly releases: ReleaseEntry[];
}

const EDGE = 'direct-edge';
/** Admission keeps the holds of a sender without heartbeats for this time (docs/protocol.md#r2). */
export const DIRECT_HELD_MS = 10_000;
/**
 * Enough that each replica has several messages, and few enough that no message waits longer than
 * its entries allow.
 */
const MESSAGES_AT_ONCE = 9;
/**
 * Every second message is sent twice at the same time, as after a timeout. So are the first
 * messages, whose entries fit.
 */
const SENT_TWICE_EVERY = 2;
const REPEATS_MAX = 5;
const TIMEOUT_MS = 10_000;
const DRAIN_MS = 5_000;
const BOUNDS = { promptBytes: 5, arrayElements: 0, attachments: 0, outputTokensMax: 8_192 };

/** A sender with the permissions of an edge that queries admission directly. */
export class DirectSender {
  readonly #bus: Bus;
  readonly #pepper: string;

  private constructor(bus: Bus, pepper: string) {
    this.#bus = bus;
    this.#pepper = pepper;
  }

  static async begin({ local }: OwnSystem): Promise<DirectSender> {
    const url = local.addresses.natsUrlOf('edge-proxy');
    const bus = await connectBus({ url, service: 'edge-proxy', replica: EDGE, log: silentLog });
    return new DirectSender(bus, local.secrets.keyPepper);
  }

  async end(): Promise<void> {
    await this.#bus.drain(DRAIN_MS);
  }

  /**
   * Requests the admission of `count` calls. Rejects if an entry gets no answer. An entry that
   * admission could not decide in time is sent again as an edge does, at most five times.
   */
  async admit(secret: string, model: string, count: number): Promise<DirectAnswers> {
    const digests = [digestOfSecret(secret, this.#pepper)];
    const admitted = new Map<string, AdmittedAnswer>();
    const refused = new Map<RefusalCode, Set<string>>();
    const replicas = new Set<string>();
    let repeated = 0;
    const note = (answer: Exclude<BatchAnswer, { kind: 'fault' }>): void => {
      if (answer.kind === 'admitted') {
        if (answer.repeated) repeated += 1;
        admitted.set(answer.id, answer);
      } else if (answer.kind === 'refused') {
        refused.set(answer.code, (refused.get(answer.code) ?? new Set()).add(answer.id));
      } else throw new Error(`${answer.id} was answered ${JSON.stringify(answer)}`);
    };
    const send = async (admits: AdmitEntry[], again = 0): Promise<void> => {
      const answers = await this.#request({ admits, releases: [] }, replicas);
      const undecided = new Set<string>();
      for (const answer of answers) {
        if (answer.kind !== 'fault') note(answer);
        else if (answer.code === 'admission_error' && again < REPEATS_MAX) undecided.add(answer.id);
        else throw new Error(`${answer.id} was answered ${JSON.stringify(answer)}`);
      }
      const left = admits.filter(({ id }) => undecided.has(id));
      if (left.length > 0) await send(left, again + 1);
    };
    let left = count;
    let sent = 0;
    const worker = async (): Promise<void> => {
      while (left > 0) {
        const entries = Math.min(left, BATCH_ENTRIES_MAX);
        left -= entries;
        sent += 1;
        const admits = Array.from({ length: entries }, () => entryOf(digests, model));
        const isSentTwice = sent <= MESSAGES_AT_ONCE || sent % SENT_TWICE_EVERY === 0;
        await Promise.all(isSentTwice ? [send(admits), send(admits)] : [send(admits)]);
      }
    };
    await Promise.all(Array.from({ length: MESSAGES_AT_ONCE }, worker));
    return { admitted, refused, repeated, replicas };
  }

  /** Releases all holds without a charge, because no call was made. */
  async giveBack(admitted: DirectAnswers['admitted']): Promise<void> {
    const releases = [...admitted.values()].flatMap(({ id, hold, epoch }): ReleaseEntry[] =>
      hold === null ? [] : [{ blind: false, id, hold, callEpoch: epoch, outcome: 'void', amountNanoUsd: 0 }],
    );
    while (releases.length > 0) await this.#request({ admits: [], releases: releases.splice(0, BATCH_ENTRIES_MAX) });
  }

  /**
   * Sends one message and waits until each entry has an answer. Repeats the message if the bus was
   * disconnected.
   */
  async #request(batch: DirectBatch, replicas = new Set<string>()): Promise<BatchAnswer[]> {
    for (let again = 0; ; again += 1) {
      await until('the bus is connected', () => this.#bus.connected());
      try {
        return await this.#requestOnce(batch, replicas);
      } catch (error) {
        const isLost = error instanceof BusFault && error.code === 'disconnected';
        if (!isLost || again === REPEATS_MAX) throw error;
      }
    }
  }

  async #requestOnce(batch: DirectBatch, replicas: Set<string>): Promise<BatchAnswer[]> {
    const answers: BatchAnswer[] = [];
    let released = 0;
    let fault: Error | null = null;
    const handle = this.#bus.requestMany(
      admissionBatch,
      { edge: EDGE, opens: [], ...batch },
      {
        answer(answer) {
          replicas.add(answer.replica);
          answers.push(...answer.answers);
          released += answer.released.length;
        },
        fault(text) {
          fault = text;
        },
      },
      { timeoutMs: TIMEOUT_MS },
    );
    const { admits, releases } = batch;
    await until(
      'every entry is answered',
      () => {
        if (fault !== null) throw fault;
        return answers.length === admits.length && released === releases.length;
      },
      TIMEOUT_MS,
    );
    handle.close();
    return answers;
  }
}

function entryOf(digests: string[], model: string): AdmitEntry {
  const id = makeUuidV7(Date.now());
  const endpoint = '/v1/chat/completions';
  return { id, digests, endpoint, model, bounds: BOUNDS, bodyRefusal: null, opened: false };
}
