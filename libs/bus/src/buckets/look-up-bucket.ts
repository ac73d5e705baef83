import { headers } from 'nats';
import { bucketConfiguration, bucketStream, directGetSubject, entrySubject } from './bucket.js';
import { BusFault } from '../bus-fault.js';
import type { Bus, BucketEntry, LookUpBucket } from '../bus.js';
import { requestApi } from '../streams/jetstream.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';
import { storeBytes } from '../streams/store.js';
import { readLastMessage, ensureConfiguration, type StreamAnswer } from '../streams/streams.js';

/** Status of the server for an entry that does not exist. */
const NOT_FOUND = 404;
const NO_DATA = new Uint8Array(0);
/** Errors that may mean a missing bucket. A direct read of a missing bucket gets no reply. */
const MAY_BE_GONE: ReadonlySet<string> = new Set(['no_responders', 'stream_missing', 'timeout']);

/** Creates KV buckets whose entries are written and read one by one. */
export function createLookUpBuckets(inbox: ReplyInbox, replicas: number): Pick<Bus, 'lookUpBucket'> {
  return {
    lookUpBucket: ({ name, ageMaxMs, bytesMax, entriesMax }): LookUpBucket => {
      const discard = entriesMax === undefined ? 'old' : 'new';
      const configuration = bucketConfiguration(name, { bytesMax, entriesMax, ageMaxMs, discard, replicas });
      let made: Promise<void> | null = null;
      // Creates the bucket at its first use, so that a failure does not affect the rest of the bus.
      const make = (): Promise<void> =>
        (made ??= ensureConfiguration(inbox, configuration).catch((error: unknown) => {
          made = null;
          throw error;
        }));
      /** After an error that may mean lost data, the next use creates the bucket again. */
      const use = async <T>(work: () => Promise<T>): Promise<T> => {
        await make();
        return work().catch((error: unknown) => {
          if (error instanceof BusFault && MAY_BE_GONE.has(error.code)) made = null;
          throw error;
        });
      };
      const ask = async (key: string, timeoutMs: number): Promise<BucketEntry | null> => {
        const subject = directGetSubject(name, entrySubject(name, key));
        const answer = await inbox.exchange({ subject, timeoutMs }, NO_DATA);
        const code = answer.headers?.code ?? 0;
        if (code === NOT_FOUND) return null;
        if (code !== 0) throw new BusFault('stream_refused', `${name}: ${answer.headers?.status}`);
        const revision = Number(answer.headers?.get('Nats-Sequence'));
        return { value: Buffer.from(answer.data).toString('utf8'), revision };
      };
      const store = async (key: string, value: string, timeoutMs: number, revision: number | null): Promise<void> => {
        const expected = revision === null ? undefined : headers();
        expected?.set('Nats-Expected-Last-Subject-Sequence', String(revision));
        await storeBytes(inbox, entrySubject(name, key), Buffer.from(value, 'utf8'), timeoutMs, expected);
      };
      const read = (key: string, timeoutMs: number): Promise<BucketEntry | null> => use(() => ask(key, timeoutMs));
      const write = (key: string, value: string, timeoutMs: number, revision: number | null): Promise<void> =>
        use(() => store(key, value, timeoutMs, revision));
      return {
        put: (key, value, timeoutMs) => write(key, value, timeoutMs, null),
        get: async (key, timeoutMs) => (await read(key, timeoutMs))?.value ?? null,
        getFromLeader: (key, timeoutMs) =>
          use(async () => {
            const data = await readLastMessage(inbox, bucketStream(name), entrySubject(name, key), timeoutMs);
            return data?.toString('utf8') ?? null;
          }),
        entries: (timeoutMs) =>
          use(async () => {
            const { state } = await requestApi<StreamAnswer>(inbox, `STREAM.INFO.${bucketStream(name)}`, {}, timeoutMs);
            return state.messages;
          }),
        read,
        replace: (key, value, revision, timeoutMs) => write(key, value, timeoutMs, revision),
      };
    },
  };
}
