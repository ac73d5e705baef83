import { headers } from 'nats';
import { bucketConfiguration, entryQuestion, entrySubject } from './bucket.js';
import { BusFault } from './bus-fault.js';
import type { Bus, BucketEntry, LookUpBucket } from './bus.js';
import type { ReplyInbox } from './reply-inbox.js';
import { storeBytes } from './store.js';
import { ensureConfiguration } from './streams.js';

/** How the server says that it has no such entry. */
const NOT_FOUND = 404;
const NO_DATA = new Uint8Array(0);

/** KV buckets whose entries are written and read one by one. */
export function makeLookUpBucket(inbox: ReplyInbox, replicas: number): Pick<Bus, 'lookUpBucket'> {
  return {
    lookUpBucket: ({ name, ageMaxMs, bytesMax }): LookUpBucket => {
      const configuration = bucketConfiguration(name, { bytesMax, ageMaxMs, discard: 'old', replicas });
      let made: Promise<void> | null = null;
      // At the first use: a bus that cannot make it shall serve everything else.
      const make = (): Promise<void> =>
        (made ??= ensureConfiguration(inbox, configuration).catch((error: unknown) => {
          made = null;
          throw error;
        }));
      const read = async (key: string, timeoutMs: number): Promise<BucketEntry | null> => {
        await make();
        const subject = entryQuestion(name, entrySubject(name, key));
        const answer = await inbox.exchange({ subject, timeoutMs }, NO_DATA);
        const code = answer.headers?.code ?? 0;
        if (code === NOT_FOUND) return null;
        if (code !== 0) throw new BusFault('stream_refused', `${name}: ${answer.headers?.status}`);
        const revision = Number(answer.headers?.get('Nats-Sequence'));
        return { value: Buffer.from(answer.data).toString('utf8'), revision };
      };
      const write = async (key: string, value: string, timeoutMs: number, revision: number | null): Promise<void> => {
        await make();
        const expected = revision === null ? undefined : headers();
        expected?.set('Nats-Expected-Last-Subject-Sequence', String(revision));
        await storeBytes(inbox, entrySubject(name, key), Buffer.from(value, 'utf8'), timeoutMs, expected);
      };
      return {
        put: (key, value, timeoutMs) => write(key, value, timeoutMs, null),
        get: async (key, timeoutMs) => (await read(key, timeoutMs))?.value ?? null,
        read,
        replace: (key, value, revision, timeoutMs) => write(key, value, timeoutMs, revision),
      };
    },
  };
}
