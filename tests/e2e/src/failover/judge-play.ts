import { parseUsd } from '@gateway/metering';
import { errorCode } from '../../test/call.js';
import { PROVIDER_CODE, endingCode } from './formats.js';
import { hasRested } from './health-watch.js';
import {
  CHARGE_NANO_USD,
  type ExpectedResponse,
  type ExpectedCall,
  type ExpectedHealth,
  type Play,
  type SeenAnswer,
  type SeenCall,
  type SeenPlay,
} from './scenario.js';

/** Tolerance for rounding: the end of an attempt is reported in whole milliseconds. */
const REST_MS_OFF_MAX = 2;

export function judgePlay({ play, calls, health }: SeenPlay): string[] {
  const name = `${play.scenario.name}, ${play.format.path} ${play.streamed ? 'streamed' : 'plain'}`;
  const wrong = play.calls.flatMap((expected, at) => {
    const seen = calls[at];
    const call = play.calls.length === 1 ? '' : ` (request ${at + 1})`;
    return seen === undefined
      ? [`request ${at + 1} was not sent`]
      : judgeCall(play, expected, seen).map((each) => `${each}${call}`);
  });
  return [...wrong, ...judgeHealth(play.scenario.health, health)].map((each) => `${name}: ${each}`);
}

function judgeCall(play: Play, expected: ExpectedCall, { answer, queried, reached, record, takenNanoUsd }: SeenCall) {
  const wrong = judgeAnswer(play, expected.client, answer);
  const compare = (what: string, wanted: unknown, found: unknown): void => {
    if (String(wanted) !== String(found)) wrong.push(`${what} ${String(found)} instead of ${String(wanted)}`);
  };
  compare('sources queried', expected.queried, queried);
  compare(
    'providers reached',
    expected.queried.filter((source) => expected[source] !== 'refuses connections'),
    reached,
  );
  const charge = expected.charged === null ? 0n : CHARGE_NANO_USD[expected.charged];
  compare('charge in nano-USD', charge, parseUsd(record.chargedUsd));
  compare('taken from the wallet in nano-USD', charge, takenNanoUsd);
  compare('outcome', expected.charged === null ? 'voided' : 'settled', record.outcome);
  compare('evidence', expected.charged === null ? 'none' : 'reported', record.evidence);
  return wrong;
}

function judgeAnswer({ format, streamed }: Play, client: ExpectedResponse, answer: SeenAnswer): string[] {
  const seen = describeSeen(answer, streamed ? format.finalMarker : null);
  const wanted = describeExpected(client, format);
  return seen === wanted ? [] : [`the client received "${seen}" instead of "${wanted}"`];
}

function describeExpected(client: ExpectedResponse, format: Play['format']): string {
  const isNormalEnd = format.path === '/v1/responses';
  switch (client.kind) {
    case 'whole':
      return 'whole';
    case 'refused':
      return `${client.status} ${client.code}, Retry-After ${client.retryAfter ?? 'absent'}`;
    case 'broken_off': {
      const code = client.isProviderError === true && format.relaysErrors ? PROVIDER_CODE : client.code;
      return `begun, ${code}, ${isNormalEnd ? 'ended' : 'cut'}`;
    }
  }
}

function describeSeen({ status, retryAfter, text, cut }: SeenAnswer, marker: string | null): string {
  if (status !== 200) {
    return `${status} ${errorCode(text)}, Retry-After ${retryAfter ?? 'absent'}`;
  }
  const code = marker === null ? null : endingCode(text);
  if (code !== null) return `begun, ${code}, ${cut ? 'cut' : 'ended'}`;
  if (cut) return 'cut without an error';
  return marker === null || text.includes(marker) ? 'whole' : 'ended without its final marker';
}

function judgeHealth(expected: ExpectedHealth, seen: SeenPlay['health']): string[] {
  const { failuresInARow, lastOutcome, restsUntil, lastAttemptAt } = seen;
  const isPast = hasRested(seen, expected.restMs);
  const state = isPast ? expected.state : seen.state;
  const restMs = restsUntil === null ? null : Date.parse(restsUntil) - Date.parse(lastAttemptAt ?? '');
  const found = `${state}, ${failuresInARow} failures in a row, last ${lastOutcome}`;
  const wanted = `${expected.state}, ${expected.failuresInARow} failures in a row, last ${expected.lastOutcome}`;
  const wrong = found === wanted ? [] : [`source a is ${found} instead of ${wanted}`];
  const isClose =
    restMs === null || expected.restMs === null
      ? isPast || restMs === expected.restMs
      : Math.abs(restMs - expected.restMs) <= REST_MS_OFF_MAX;
  return isClose ? wrong : [...wrong, `the cooldown of source a is ${restMs} ms instead of ${expected.restMs}`];
}
