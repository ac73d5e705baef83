import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventText, meterText } from '../../test/meter-text.js';
import type { MeterResult } from './meter.js';
import { READERS } from './readers.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

/** The counts of one report: undefined is left out, null is unreadable. */
interface Said {
  readonly input: number | null | undefined;
  readonly output: number | null | undefined;
  readonly cached: number | null | undefined;
  readonly total: number | undefined;
}

const few = fc.constantFrom(0, 1, 2, 3, 5, 8);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 4 });
const reported: fc.Arbitrary<Said> = fc.record({
  input: maybe(fc.option(few, { freq: 6 })),
  output: maybe(fc.option(few, { freq: 6 })),
  cached: maybe(fc.option(few, { freq: 6 })),
  total: maybe(fc.constantFrom(4, 9, 20)),
});
const sequence = fc.array(fc.oneof({ arbitrary: reported, weight: 8 }, { arbitrary: fc.constant(null), weight: 1 }), {
  maxLength: 5,
});
/** Values that are not counts, in turn. */
const UNREADABLE: readonly unknown[] = [null, '7', -1, 1.5, 1e30, [], {}, false];

const unreadable = (at: number): unknown => UNREADABLE[at % UNREADABLE.length];
const written = (count: number | null | undefined, at: number): unknown => (count === null ? unreadable(at) : count);

interface Best {
  input: number | undefined;
  output: number | undefined;
  cached: number | undefined;
}

/**
 * Combines the reports rule by rule, with an implementation that is independent of the tested code.
 */
function bestOf(reports: readonly (Said | null)[]): Best {
  let best: Best = { input: undefined, output: undefined, cached: undefined };
  let total: number | undefined;
  for (const report of reports) {
    if (report === null) continue;
    const now = derived({ ...cleaned(report) }, report.total);
    const hasBoth = now.input !== undefined && now.output !== undefined;
    const isLess = (now.input ?? 0) < (best.input ?? 0) || (now.output ?? 0) < (best.output ?? 0);
    if (hasBoth && !isLess) best = { ...now, cached: now.cached ?? best.cached };
    else
      best = {
        input: up(best.input, now.input),
        output: up(best.output, now.output),
        cached: up(best.cached, now.cached),
      };
    total = hasBoth && !isLess ? (report.total ?? total) : up(total, report.total);
  }
  return derived(best, total);
}

const cleaned = ({ input, output, cached }: Said): Best => ({
  input: input ?? undefined,
  output: output ?? undefined,
  cached: cached ?? undefined,
});

function derived(best: Best, total: number | undefined): Best {
  const { input, output } = best;
  if (total === undefined || (input === undefined) === (output === undefined)) return best;
  if (output === undefined) return (input as number) <= total ? { ...best, output: total - (input as number) } : best;
  return output <= total ? { ...best, input: total - output } : best;
}

function up(before: number | undefined, later: number | undefined): number | undefined {
  if (before === undefined || later === undefined) return before ?? later;
  return later > before ? later : before;
}

/** The meter's result in the form of {@link Best}. */
function found({ usage, begun }: MeterResult): Best {
  const counts = usage ?? begun ?? { input: null, output: null, cachedInput: 0 };
  return { input: counts.input ?? undefined, output: counts.output ?? undefined, cached: counts.cachedInput };
}

function expectBest(result: MeterResult, reports: readonly (Said | null)[]): void {
  const { input, output, cached = 0 } = bestOf(reports);
  expect(found(result)).toEqual({ input, output, cached });
  expect(result.usage !== null).toBe(input !== undefined && output !== undefined);
}

/** Names of the same counts in the chat and responses protocols. */
function usageIn(names: { input: string; output: string; details: string }, report: Said, at: number): object {
  const { input, output, cached, total } = report;
  return {
    [names.input]: written(input, at),
    [names.output]: written(output, at + 1),
    [names.details]:
      cached === undefined ? unreadable(at) : { cached_tokens: written(cached, at + 2), other_tokens: -1 },
    total_tokens: total,
  };
}

const CHAT = { input: 'prompt_tokens', output: 'completion_tokens', details: 'prompt_tokens_details' };
const RESPONSES = { input: 'input_tokens', output: 'output_tokens', details: 'input_tokens_details' };

test.each(['chat', 'completion'] as const)(
  'the usage of a %s stream is the best of its reports in any order',
  (format) => {
    fc.assert(
      fc.property(sequence, fc.nat(7), (reports, at) => {
        const chunks = reports.map((report, index) => ({
          choices: [{ index: 0, delta: {}, text: '', finish_reason: 'stop' }],
          usage: report === null ? unreadable(at + index) : usageIn(CHAT, report, at + index),
        }));
        const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
        expectBest(meterText(READERS[format], text).result, reports);
      }),
      { numRuns: 2_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'the usage of a response is the best of its reports in any order',
  () => {
    fc.assert(
      fc.property(sequence, fc.nat(7), (reports, at) => {
        const events = reports.map((report, index) => ({
          type: 'response.in_progress',
          response: { usage: report === null ? unreadable(at + index) : usageIn(RESPONSES, report, at + index) },
        }));
        const text = eventText([...events, { type: 'response.completed' }]);
        expectBest(meterText(READERS.response, text).result, reports);
      }),
      { numRuns: 2_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'the usage of a message is the best report if input moves to the cache',
  () => {
    const shared = fc.record({ fresh: few, cached: few, output: maybe(few) });
    const outputs = fc.record({ output: fc.option(few, { freq: 6 }) });
    fc.assert(
      fc.property(fc.array(fc.oneof(shared, outputs), { maxLength: 5 }), (reports) => {
        const usages = reports.map((report, at) =>
          'fresh' in report
            ? {
                input_tokens: report.fresh,
                cache_read_input_tokens: report.cached,
                output_tokens: report.output,
                cache_creation: unreadable(at),
              }
            : { output_tokens: written(report.output, at) },
        );
        const asSaid = reports.map((report): Said => {
          const shares = 'fresh' in report ? report : { fresh: undefined, cached: undefined };
          const input = shares.fresh === undefined ? undefined : shares.fresh + shares.cached;
          return { input, output: report.output, cached: shares.cached, total: undefined };
        });
        const events = usages.map((usage) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }));
        expectBest(meterText(READERS.message, eventText(events)).result, asSaid);
      }),
      { numRuns: 2_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test('a plain response has the best usage of all its places', () => {
  const good = { prompt_tokens: 12, completion_tokens: 34, prompt_tokens_details: { cached_tokens: 5 } };
  const counts = { input: 12, output: 34, cachedInput: 5 };
  for (const places of [
    { usage: {}, x_groq: { usage: good } },
    { usage: good, x_groq: { usage: {} } },
    { usage: { prompt_tokens: 12 }, x_groq: { usage: good } },
  ]) {
    const body = Buffer.from(JSON.stringify({ choices: [{ index: 0 }], ...places }));
    expect(READERS.chat.readPlain(body)).toMatchObject({ usage: counts, finished: true });
  }
});
