import { expect, test } from '@jest/globals';
import type { PriceFigures } from '@gateway/metering';
import {
  planVersion,
  publishedVersions,
  shownVersions,
  versionAt,
  VERSIONS_BYTES_MAX,
  VERSIONS_AHEAD_MAX,
  withVersion,
} from './version-rules.js';
import { toWireFigures } from './price-rules.js';
import type { DatedFigures } from './rules.js';

const NOW = 1_000_000;
const at = (effectiveFrom: number, figures: PriceFigures | null, version = `pv_${effectiveFrom}`): DatedFigures => ({
  version,
  effectiveFrom,
  figures,
});
const price = (inputPerMillion: bigint): PriceFigures => ({
  inputPerMillion,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 1n,
  perCall: 0n,
  tiers: [],
  extras: null,
});
const NO_KINDS = { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null };
const plan = (versions: readonly DatedFigures[], figures: PriceFigures | null, effectiveFrom: number | null = null) =>
  planVersion(versions, { figures, effectiveFrom }, NOW, 'prices');
const past = { refused: expect.objectContaining({ code: 'invalid_request', param: 'prices.effectiveFrom' }) };

test('the version in force is the last one that began, and of equals the later written', () => {
  const versions = [at(1, price(1n)), at(5, price(2n), 'early'), at(5, price(3n), 'late'), at(9, null)];
  expect(versionAt(versions, 0)).toBeNull();
  expect(versionAt(versions, 4)?.version).toBe('pv_1');
  expect(versionAt(versions, 5)?.version).toBe('late');
  expect(versionAt(versions, 9)?.figures).toBeNull();
});

test('different figures from now on create a version, and equal ones do not', () => {
  expect(plan([], price(1n))).toEqual({ effectiveFrom: NOW, figures: price(1n) });
  expect(plan([at(1, price(1n))], price(1n))).toBeNull();
  expect(plan([at(1, price(1n))], price(2n))).toEqual({ effectiveFrom: NOW, figures: price(2n) });
  expect(plan([at(1, price(1n))], null)).toEqual({ effectiveFrom: NOW, figures: null });
  expect(plan([], null)).toBeNull();
  expect(plan([at(1, null)], null)).toBeNull();
});

test('a null price differs from an equal explicit price', () => {
  expect(plan([at(1, price(1n))], { ...price(1n), cachedInputPerMillion: 1n })).not.toBeNull();
});

test('figures from a later time are compared with those in force then', () => {
  const versions = [at(1, price(1n)), at(NOW + 10, price(2n))];
  expect(plan(versions, price(2n), NOW + 10)).toBeNull();
  expect(plan(versions, price(2n), NOW + 20)).toBeNull();
  expect(plan(versions, price(1n), NOW + 5)).toBeNull();
  expect(plan(versions, price(1n), NOW + 10)).toEqual({ effectiveFrom: NOW + 10, figures: price(1n) });
});

test('a past time is refused unless its figures have applied since then', () => {
  const versions = [at(1, price(1n)), at(NOW - 10, price(2n))];
  expect(plan(versions, price(3n), NOW - 1)).toEqual(past);
  expect(plan(versions, price(2n), NOW - 10)).toBeNull();
  expect(plan(versions, price(2n), NOW - 1)).toBeNull();
  expect(plan(versions, price(2n), NOW - 11)).toEqual(past);
  expect(plan(versions, price(1n), 1)).toEqual(past);
  expect(plan([], price(1n), NOW - 1)).toEqual(past);
});

test('versions are limited by their total size', () => {
  const tiers = Array.from({ length: 8 }, (_, size) => ({ ...price(10n ** 15n), aboveInputTokens: size + 1 }));
  const large: PriceFigures = { ...price(10n ** 15n), tiers };
  const extras = { classes: { flex: large, fast: large, priority: large }, units: {}, kinds: NO_KINDS };
  const dear: PriceFigures = { ...large, extras };
  const kept: DatedFigures[] = [];
  let refused: unknown = null;
  for (let n = 1; n <= VERSIONS_AHEAD_MAX && refused === null; n += 1) {
    const made = plan(kept, { ...dear, perCall: BigInt(n) }, NOW + n);
    if (made === null || 'refused' in made) refused = made;
    else kept.push({ version: `v${n}`, ...made });
  }
  expect(refused).toMatchObject({ refused: { code: 'state_conflict', param: 'prices' } });
  expect(kept.length * JSON.stringify(toWireFigures(dear)).length).toBeLessThanOrEqual(VERSIONS_BYTES_MAX);
  expect(plan(kept, dear)).toEqual(refused);
});

test('later versions are limited, but one can be replaced or applied immediately', () => {
  const versions = Array.from({ length: VERSIONS_AHEAD_MAX }, (_, n) => at(NOW + 1 + n, price(BigInt(n))));
  expect(plan(versions, price(99n), NOW + 100)).toMatchObject({ refused: { code: 'state_conflict' } });
  expect(plan(versions, price(99n), NOW + 1)).toMatchObject({ figures: price(99n) });
  expect(plan(versions, price(99n))).toMatchObject({ effectiveFrom: NOW });
});

test('shownVersions() returns the one in force and one for each later time', () => {
  const versions = [
    at(1, price(1n)),
    at(2, price(2n)),
    at(NOW + 1, price(3n), 'replaced'),
    at(NOW + 1, price(4n), 'kept'),
    at(NOW + 2, null),
  ];
  expect(shownVersions(versions, NOW).map(({ version }) => version)).toEqual(['pv_2', 'kept', `pv_${NOW + 2}`]);
  expect(shownVersions(versions, 0).map(({ version }) => version)).toEqual(['pv_1', 'pv_2', 'kept', `pv_${NOW + 2}`]);
  expect(shownVersions([], NOW)).toEqual([]);
});

test('publishedVersions() also returns the one before the one in force', () => {
  const versions = [at(1, price(1n)), at(2, price(2n)), at(2, price(3n), 'kept'), at(5, null), at(NOW + 1, price(4n))];
  const published = (nowMs: number) => publishedVersions(versions, nowMs).map(({ version }) => version);
  expect(published(NOW)).toEqual(['kept', 'pv_5', `pv_${NOW + 1}`]);
  expect(published(2)).toEqual(['pv_1', 'kept', 'pv_5', `pv_${NOW + 1}`]);
  expect(published(1)).toEqual(['pv_1', 'kept', 'pv_5', `pv_${NOW + 1}`]);
  expect(published(0)).toEqual(['pv_1', 'kept', 'pv_5', `pv_${NOW + 1}`]);
  expect(publishedVersions([], NOW)).toEqual([]);
});

test('withVersion() inserts a version by its time, after those of the same time', () => {
  const versions = [at(1, price(1n)), at(5, price(2n)), at(9, price(3n))];
  const order = (effectiveFrom: number) => withVersion(versions, at(effectiveFrom, null, 'new')).map((v) => v.version);
  expect(order(5)).toEqual(['pv_1', 'pv_5', 'new', 'pv_9']);
  expect(order(0)).toEqual(['new', 'pv_1', 'pv_5', 'pv_9']);
  expect(order(10)).toEqual(['pv_1', 'pv_5', 'pv_9', 'new']);
});
