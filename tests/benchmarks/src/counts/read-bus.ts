import type { Counters } from './counters.js';

const ANSWER_MS_MAX = 5_000;
const USAGE_STREAM = 'USAGE';

interface Varz {
  readonly in_msgs: number;
  readonly out_msgs: number;
  readonly in_bytes: number;
  readonly out_bytes: number;
}

interface Jsz {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly state: { readonly bytes: number; readonly last_seq: number };
    }[];
  }[];
}

/** Reads the counters of NATS since its start from its monitoring port. */
export async function readBus(monitorUrl: string): Promise<Counters> {
  const read = async (path: string): Promise<unknown> =>
    (await fetch(`${monitorUrl}${path}`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })).json();
  const [varz, jsz] = (await Promise.all([read('/varz'), read('/jsz?streams=true')])) as [Varz, Jsz];
  const streams = (jsz.account_details ?? []).flatMap(({ stream_detail }) => stream_detail ?? []);
  const usage = streams.find(({ name }) => name === USAGE_STREAM);
  return {
    busMessagesIn: varz.in_msgs,
    busMessagesOut: varz.out_msgs,
    busBytesIn: varz.in_bytes,
    busBytesOut: varz.out_bytes,
    ...(usage === undefined ? {} : { usageMessages: usage.state.last_seq, usageBytes: usage.state.bytes }),
  };
}
