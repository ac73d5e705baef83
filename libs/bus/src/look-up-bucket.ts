import { bucketConfiguration, entryQuestion, entrySubject } from './bucket.js';
import { BusFault } from './bus-fault.js';
import type { Bus, LookUpBucket } from './bus.js';
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
      return {
        put: async (key, value, timeoutMs) => {
          await make();
          await storeBytes(inbox, entrySubject(name, key), Buffer.from(value, 'utf8'), timeoutMs);
        },
        get: async (key, timeoutMs) => {
          await make();
          const subject = entryQuestion(name, entrySubject(name, key));
          const { headers, data } = await inbox.exchange({ subject, timeoutMs }, NO_DATA);
          const code = headers?.code ?? 0;
          if (code === NOT_FOUND) return null;
          if (code !== 0) throw new BusFault('stream_refused', `${name}: ${headers?.status}`);
          return Buffer.from(data).toString('utf8');
        },
      };
    },
  };
}
