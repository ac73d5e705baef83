import { published, request, stored, type AnyMessage } from '@gateway/contracts/messages';
import { z } from 'zod';
import type { BucketPermissions } from '../src/index.js';

/** A request with one reply, also served per replica. */
export const echo = request({
  name: 'test.echo',
  subject: 'test.echo',
  version: 3,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  answers: 'one',
  timeoutMs: 20_000,
  perReplica: true,
  body: z.object({ text: z.string() }),
  answer: z.object({ text: z.string(), replica: z.string() }),
});

/** The same request in another version. */
export const echoNext = { ...echo, version: 4 };
/** The same request with a body that the server does not accept. */
export const echoLoose = { ...echo, body: z.looseObject({}) };
/** The same request with a reply that the requester does not accept. */
export const echoOdd = { ...echo, answer: z.object({ number: z.int() }) };

export const countUp = request({
  name: 'test.count',
  subject: 'test.count',
  version: 1,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  answers: 'many',
  timeoutMs: 20_000,
  perReplica: false,
  body: z.object({ to: z.int() }),
  answer: z.object({ n: z.int() }),
});

const listOf = (name: string) => ({
  pack: (body: unknown, version: number) => [version, (body as Record<string, unknown>)[name]],
  unpack: (list: unknown) => ({ [name]: (list as unknown[])[1] }),
});

/** A request with a packed body and packed replies. */
export const square = request({
  name: 'test.square',
  subject: 'test.square',
  version: 2,
  checkedInPlace: true,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  answers: 'many',
  timeoutMs: 20_000,
  perReplica: true,
  packed: { body: listOf('side'), answer: listOf('area') },
  body: z.object({ side: z.int() }),
  answer: z.object({ area: z.int() }),
});

export const unserved = request({
  name: 'test.unserved',
  subject: 'test.unserved',
  version: 1,
  sentBy: ['edge-proxy'],
  servedBy: ['billing'],
  answers: 'one',
  timeoutMs: 20_000,
  perReplica: false,
  body: z.object({}),
  answer: z.object({ who: z.string().optional() }),
});

/** A request that a handler may send while it runs. */
export const lookUp = request({
  name: 'test.look-up',
  subject: 'test.look-up',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['edge-proxy'],
  answers: 'one',
  timeoutMs: 20_000,
  perReplica: false,
  body: z.object({}),
  answer: z.object({ found: z.string() }),
});

export const notice = published({
  name: 'test.notice',
  subject: 'test.notice.{to}',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['edge-proxy'],
  reaches: 'all',
  body: z.object({ n: z.int() }),
});

export const job = published({
  name: 'test.job',
  subject: 'test.job',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['edge-proxy'],
  reaches: 'one',
  body: z.object({ n: z.int() }),
});

export const recorded = stored({
  name: 'test.recorded',
  subject: 'test.recorded.{shard}',
  version: 1,
  sentBy: ['edge-proxy', 'admission'],
  servedBy: ['billing'],
  stream: 'USAGE',
  body: z.object({ n: z.int(), fill: z.string().optional() }),
});

export const pulse = stored({
  name: 'test.pulse',
  subject: 'test.pulse.{edge}',
  version: 1,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  stream: 'HEARTBEATS',
  body: z.object({ n: z.int() }),
});

export const TEST_MESSAGES: readonly AnyMessage[] = [
  echo,
  countUp,
  square,
  unserved,
  lookUp,
  notice,
  job,
  recorded,
  pulse,
];
export const TEST_BUCKETS: BucketPermissions = {
  catalog: { writtenBy: ['catalog'], readBy: ['edge-proxy', 'admission', 'dashboard'] },
  notes: { writtenBy: ['edge-proxy'], readBy: ['edge-proxy'], lookedUp: true },
};
