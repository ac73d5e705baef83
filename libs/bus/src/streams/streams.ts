import { retry, type RetryOptions } from '@gateway/service-kit';
import { JetStreamFault } from '../bus-fault.js';
import type { Bus, StreamSettings } from '../bus.js';
import { requestApi, ERROR_NUMBER, NANOSECONDS_PER_MS } from './jetstream.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';

/** The fields of the server's stream information that the bus reads. */
export interface StreamAnswer {
  state: {
    messages: number;
    bytes: number;
    first_seq: number;
    last_seq: number;
    first_ts: string;
    last_ts: string;
  };
}

interface ConsumerAnswer {
  ack_floor: { stream_seq: number };
}

interface MessageAnswer {
  message: { subject: string; seq: number; data?: string; time: string };
}

/** Returns null instead of the error number `missing`. */
async function orNull<T>(asked: Promise<T>, missing: number): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof JetStreamFault && error.errorNumber === missing) return null;
    throw error;
  }
}

/** Returns the data of a subject's last message, read from the leader; null if none exists. */
export async function readLastMessage(
  inbox: ReplyInbox,
  stream: string,
  subject: string,
  timeoutMs: number,
): Promise<Buffer | null> {
  const question = { last_by_subj: subject };
  const answer = await orNull(
    requestApi<MessageAnswer>(inbox, `STREAM.MSG.GET.${stream}`, question, timeoutMs),
    ERROR_NUMBER.messageNotFound,
  );
  return answer === null ? null : Buffer.from(answer.message.data ?? '', 'base64');
}

/** Creates streams and reads their state. */
export function createStreamClient(
  inbox: ReplyInbox,
): Pick<Bus, 'ensureStream' | 'streamState' | 'purgeStream' | 'ackFloor' | 'storedMessage'> {
  return {
    ensureStream: (settings) => ensureConfiguration(inbox, toStreamConfiguration(settings)),
    streamState: async (stream) => {
      const { state } = await requestApi<StreamAnswer>(inbox, `STREAM.INFO.${stream}`, {});
      const empty = state.messages === 0;
      return {
        messages: state.messages,
        bytes: state.bytes,
        firstSequence: state.first_seq,
        lastSequence: state.last_seq,
        firstAt: empty ? null : Date.parse(state.first_ts),
        lastAt: empty ? null : Date.parse(state.last_ts),
      };
    },
    purgeStream: async (stream, upToSequence, filter) => {
      // The server's bound is the first message that it keeps; its 0 would mean everything.
      if (upToSequence < 1) return;
      await requestApi(inbox, `STREAM.PURGE.${stream}`, {
        seq: upToSequence + 1,
        ...(filter !== undefined && { filter }),
      });
    },
    ackFloor: async (stream, durable) => {
      const answer = await orNull(
        requestApi<ConsumerAnswer>(inbox, `CONSUMER.INFO.${stream}.${durable}`, {}),
        ERROR_NUMBER.consumerNotFound,
      );
      return answer?.ack_floor.stream_seq ?? 0;
    },
    storedMessage: async (stream, sequence, ofSubject) => {
      const question = { seq: sequence, ...(ofSubject !== undefined && { next_by_subj: ofSubject }) };
      const answer = await orNull(
        requestApi<MessageAnswer>(inbox, `STREAM.MSG.GET.${stream}`, question),
        ERROR_NUMBER.messageNotFound,
      );
      if (answer === null) return null;
      const { subject, seq, data = '', time } = answer.message;
      return { subject, sequence: seq, data: Buffer.from(data, 'base64'), storedAtMs: Date.parse(time) };
    },
  };
}

/** Error numbers of the server when the stream exists or another replica is creating it. */
const MAY_EXIST: readonly number[] = [
  ERROR_NUMBER.streamNameInUse,
  // The stream's own subjects, and the room that it has reserved itself.
  ERROR_NUMBER.streamSubjectOverlap,
  ERROR_NUMBER.storageExceeded,
  ERROR_NUMBER.streamNotFound,
];

/**
 * Several servers may report a missing stream while another replica creates it. Create and update
 * are then repeated for up to ten seconds.
 */
const CREATE_RETRY: RetryOptions = {
  attemptsMax: 40,
  baseMs: 250,
  maxMs: 250,
  random: Math.random,
  mayPass: (error) => error instanceof JetStreamFault && error.errorNumber === ERROR_NUMBER.streamNotFound,
};

/**
 * Creates the stream, or updates a stream of the same name to this configuration.
 * @throws JetStreamFault if it cannot be created and does not exist, or cannot be updated
 */
export async function ensureConfiguration(inbox: ReplyInbox, configuration: { name: string }): Promise<void> {
  await retry(() => createOrUpdate(inbox, configuration), { ...CREATE_RETRY, clock: inbox.clock });
}

async function createOrUpdate(inbox: ReplyInbox, configuration: { name: string }): Promise<void> {
  try {
    await requestApi(inbox, `STREAM.CREATE.${configuration.name}`, configuration);
  } catch (refusal) {
    if (!(refusal instanceof JetStreamFault) || !MAY_EXIST.includes(refusal.errorNumber)) throw refusal;
    const updated = await orNull(
      requestApi(inbox, `STREAM.UPDATE.${configuration.name}`, configuration),
      ERROR_NUMBER.streamNotFound,
    );
    if (updated === null) throw refusal;
  }
}

function toStreamConfiguration(settings: StreamSettings): { name: string } & Record<string, unknown> {
  return {
    name: settings.stream,
    subjects: settings.subjects,
    storage: 'file',
    // Work-queue retention with a limit and discard `old` would delete messages that were not
    // consumed.
    retention: 'limits',
    discard: settings.discard,
    max_bytes: settings.bytesMax,
    max_msgs: -1,
    max_msg_size: -1,
    max_consumers: -1,
    max_age: settings.ageMaxMs * NANOSECONDS_PER_MS,
    max_msgs_per_subject: settings.messagesPerSubjectMax ?? -1,
    duplicate_window: settings.duplicateWindowMs * NANOSECONDS_PER_MS,
    num_replicas: settings.replicas,
    no_ack: false,
    deny_delete: false,
    deny_purge: false,
    allow_rollup_hdrs: false,
    allow_direct: false,
  };
}
