import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ODD, placesOf, SAMPLES } from '../test/samples.js';
import {
  compileCheck,
  unpackEvent,
  MESSAGES,
  formatPackedEvent,
  type Packing,
  type UsageEvent,
} from './messages/index.js';
import { positionsSource } from './packed-forms.js';

test('the committed positions match the schemas (npm run generate writes them)', () => {
  const committed = new URL('../src/generated/positions.ts', import.meta.url);
  expect(readFileSync(committed, 'utf8')).toBe(positionsSource());
});

const CASES = MESSAGES.flatMap((message) => {
  if (message.kind === 'published' || message.packed === undefined) return [];
  const { bodies, answers = [] } = SAMPLES[message.name] ?? { bodies: [] };
  const { packed } = message;
  return [
    { what: message.name, packing: packed.body, schema: message.body, samples: bodies },
    ...('answer' in packed && message.kind === 'request'
      ? [{ what: `an answer to ${message.name}`, packing: packed.answer, schema: message.answer, samples: answers }]
      : []),
  ];
});

const sent = (packing: Packing, body: unknown): unknown => JSON.parse(JSON.stringify(packing.pack(body, 7)));

test.each(CASES)('packing keeps $what unchanged', ({ packing, samples }) => {
  expect(samples.length).toBeGreaterThan(0);
  for (const sample of samples) {
    const list = sent(packing, sample);
    expect((list as unknown[])[0]).toBe(7);
    expect(packing.unpack(list)).toEqual(sample);
  }
});

test.each(CASES)('$what: a changed list is rejected or still valid', ({ packing, schema, samples }) => {
  const check = compileCheck(schema);
  let refused = 0;
  fc.assert(
    fc.property(fc.constantFrom(...samples), fc.nat(), ODD, fc.boolean(), (sample, at, odd, isCut) => {
      const list = sent(packing, sample);
      const places = placesOf(list);
      const { parent, name } = places[at % places.length] as (typeof places)[number];
      if (isCut && Array.isArray(parent)) parent.splice(Number(name), 1);
      else parent[name] = odd;
      const read = unpacked(packing, JSON.parse(JSON.stringify(list)));
      if (!check(read)) {
        refused += 1;
        return true;
      }
      expect(schema.safeParse(read).success).toBe(true);
      expect(packing.unpack(sent(packing, read))).toEqual(read);
      return true;
    }),
    { numRuns: 1_000 },
  );
  expect(refused).toBeGreaterThan(150);
});

function unpacked(packing: Packing, list: unknown): unknown {
  try {
    return packing.unpack(list);
  } catch {
    return null;
  }
}

test('a packed event has less than half the bytes of a named event', () => {
  const [{ events }] = SAMPLES['usage.events']?.bodies as unknown as [{ events: UsageEvent[] }];
  for (const event of events) {
    const text = formatPackedEvent(event);
    expect(text.length).toBeLessThan(JSON.stringify(event).length / 2);
    expect(unpackEvent(JSON.parse(text))).toEqual(event);
    expect(unpackEvent(event)).toBeNull();
  }
});
