import {
  BUCKETS,
  SERVICE_NAMES,
  subjectPattern,
  type AnyMessage,
  type BucketOwners,
  type ServiceName,
  type StreamName,
} from '@gateway/contracts/messages';
import { BusFault } from './bus-fault.js';
import { bucketStream, bucketSubjects, directGetSubject } from './buckets/bucket.js';
import { inboxPrefix } from './connection.js';
import { replySubjects } from './requests/reply-inbox.js';

export type BucketPermissions = Readonly<Record<string, BucketOwners>>;

export interface Permissions {
  publish: string[];
  subscribe: string[];
}

/**
 * Computes the least permissions of a service from the senders and servers of all messages. The
 * first server of a stored message owns its stream. A service may publish to inboxes of other
 * services only as a reply to requests that it serves.
 * The server's own option for this, `allow_responses`, keeps every reply subject of the last
 * minute. Above 4,096 of them it scans all with each message: at 5,000 requests a second a message
 * then costs a millisecond.
 */
export function computePermissions(
  service: ServiceName,
  messages: readonly AnyMessage[],
  buckets: BucketPermissions = BUCKETS,
): Permissions {
  const publish = new Set<string>();
  const subscribe = new Set<string>([`${inboxPrefix(service)}.>`]);
  for (const message of messages) {
    const subject = subjectPattern(message);
    const perReplica = message.kind === 'request' && message.perReplica ? [`${subject}.*`] : [];
    if (message.sentBy.includes(service)) add(publish, subject, ...perReplica);
    if (message.servedBy.includes(service)) add(subscribe, subject, ...perReplica);
    if (message.kind === 'request' && message.servedBy.includes(service)) {
      add(publish, ...message.sentBy.map((asker) => replySubjects(asker, message.subject)));
    }
    if (message.kind === 'stored') add(publish, ...streamSubjects(service, message));
  }
  for (const [bucket, owners] of Object.entries(buckets)) {
    const isLookedUp = owners.lookedUp === true;
    const isWriter = owners.writtenBy.includes(service);
    if (isWriter) add(publish, ...writerSubjects(bucket));
    if (isWriter && !isLookedUp) add(publish, ...readerSubjects(bucket));
    if (owners.readBy.includes(service)) add(publish, ...(isLookedUp ? lookupSubjects : readerSubjects)(bucket));
  }
  return { publish: [...publish].sort(), subscribe: [...subscribe].sort() };
}

/** Returns the `authorization` block of a NATS 2.9 configuration, with a user per service. */
export function natsAuthorization(
  passwords: Record<ServiceName, string>,
  messages: readonly AnyMessage[],
  buckets: BucketPermissions = BUCKETS,
): string {
  const users = SERVICE_NAMES.map((service) =>
    [
      `    {`,
      `      user: ${quoted(service)}`,
      `      password: ${quoted(passwords[service])}`,
      `      permissions: ${natsPermissions(service, messages, buckets)}`,
      `    }`,
    ].join('\n'),
  );
  return `authorization {\n  users = [\n${users.join('\n')}\n  ]\n}\n`;
}

/** The permissions of a service, as a NATS 2.9 server's configuration has them. */
export function natsPermissions(
  service: ServiceName,
  messages: readonly AnyMessage[],
  buckets: BucketPermissions = BUCKETS,
): string {
  const { publish, subscribe } = computePermissions(service, messages, buckets);
  return `{\n        publish: ${formatList(publish)}\n        subscribe: ${formatList(subscribe)}\n      }`;
}

function streamSubjects(
  service: ServiceName,
  message: { stream: StreamName } & Pick<AnyMessage, 'sentBy' | 'servedBy'>,
) {
  const { stream, sentBy, servedBy } = message;
  const allowed: string[] = [];
  if (servedBy[0] === service) {
    allowed.push(
      ...['CREATE', 'UPDATE', 'PURGE', 'MSG.GET'].map((operation) => `$JS.API.STREAM.${operation}.${stream}`),
    );
    allowed.push(`$JS.API.CONSUMER.INFO.${stream}.*`);
  }
  if (servedBy.includes(service)) {
    allowed.push(...consumerSubjects(stream), `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.*`, `$JS.ACK.${stream}.>`);
  }
  // A sender may read the fill level of the stream before it accepts work that ends in the stream.
  if (servedBy.includes(service) || sentBy.includes(service)) allowed.push(`$JS.API.STREAM.INFO.${stream}`);
  return allowed;
}

function consumerSubjects(stream: string): string[] {
  return [`$JS.API.CONSUMER.CREATE.${stream}`, `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`];
}

function readerSubjects(bucket: string): string[] {
  return consumerSubjects(bucketStream(bucket));
}

function writerSubjects(bucket: string): string[] {
  const stream = bucketStream(bucket);
  const own = ['CREATE', 'UPDATE'].map((operation) => `$JS.API.STREAM.${operation}.${stream}`);
  return [...own, bucketSubjects(bucket)];
}

function lookupSubjects(bucket: string): string[] {
  const stream = bucketStream(bucket);
  return [directGetSubject(bucket, '>'), `$JS.API.STREAM.MSG.GET.${stream}`, `$JS.API.STREAM.INFO.${stream}`];
}

function add(set: Set<string>, ...values: string[]): void {
  for (const value of values) set.add(value);
}

/** The server treats an empty allow list as permission for everything. */
function formatList(allowed: readonly string[]): string {
  return allowed.length === 0 ? '{ deny: [">"] }' : `{ allow: [${allowed.map(quoted).join(', ')}] }`;
}

function quoted(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new BusFault('fault', 'a NATS password has printable ASCII characters only');
  return JSON.stringify(text);
}
