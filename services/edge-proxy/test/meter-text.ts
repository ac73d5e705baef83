import { EventSplitter } from '../src/formats/event-stream.js';
import type {
  ResponseReader,
  MeterResult,
  EventHandling,
  StreamMeter,
  StreamMeterOptions,
} from '../src/formats/meter.js';

/** The meter's result for an event. */
export type MeterOutput = 'pass' | 'early' | 'drop' | 'final' | 'error';
export type MeterOptions = Partial<StreamMeterOptions>;

export interface MeterRun {
  readonly seen: MeterOutput[];
  readonly result: MeterResult;
  readonly meter: StreamMeter;
}

/** Runs a whole stream through the meter of a format. */
export function meterText(reader: ResponseReader, text: string, options: MeterOptions = {}): MeterRun {
  const splitter = new EventSplitter();
  const sseEvents = splitter.push(Buffer.from(text));
  const rest = splitter.end();
  const meter = reader.streamMeter({ dropUsageChunk: false, choices: 1, ...options });
  const seen = [...sseEvents, ...(rest === null ? [] : [rest])].map((sseEvent) => nameOf(meter.read(sseEvent)));
  return { seen, result: meter.result(), meter };
}

/** Returns the text of events in formats with event names. */
export function eventText(events: readonly { readonly type: string }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

function nameOf({ pass, final, early, failure }: EventHandling): MeterOutput {
  if (failure !== null) return 'error';
  if (!pass) return 'drop';
  if (early) return 'early';
  return final ? 'final' : 'pass';
}
