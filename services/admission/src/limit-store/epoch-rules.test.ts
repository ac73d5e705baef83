import { expect, test } from '@jest/globals';
import { EpochHistory, makeEpoch } from './epoch-rules.js';

const [OLD, NEW] = ['a'.repeat(40), 'b'.repeat(40)];
const epoch = (runId: string, setAt: number): string => makeEpoch(runId, setAt, '00');

function connectedTo(runId: string, ...known: string[]): EpochHistory {
  const history = new EpochHistory();
  history.begin(runId, []);
  for (const one of known) history.observe(one);
  return history;
}

test('a later epoch of another run supersedes the connected one', () => {
  expect(connectedTo(OLD, epoch(OLD, 5), epoch(NEW, 6)).isSuperseded()).toBe(true);
  expect(connectedTo(OLD, epoch(NEW, 6), epoch(OLD, 5)).isSuperseded()).toBe(true);
});

test.each([
  ['epochs of an earlier run', connectedTo(NEW, epoch(NEW, 6), epoch(OLD, 5))],
  ['a later epoch of the same run', connectedTo(NEW, epoch(NEW, 6), epoch(NEW, 7))],
  ['an epoch without a time', connectedTo(NEW, epoch(NEW, 6), `${OLD}.0011`)],
  ['other epochs if the connected run has none', connectedTo(NEW, epoch(OLD, 5), '')],
])('no run is superseded by %s', (_name, history) => {
  expect(history.isSuperseded()).toBe(false);
});

test('a server that reconnects is compared with the recorded epochs again', () => {
  const history = connectedTo(OLD, epoch(OLD, 5), epoch(NEW, 6));
  history.begin(OLD, ['']);
  expect(history.isSuperseded()).toBe(false);
  history.begin(OLD, [epoch(OLD, 5), '']);
  expect(history.isSuperseded()).toBe(true);
  history.begin(OLD, [epoch(OLD, 5), epoch(OLD, 7)]);
  expect(history.isSuperseded()).toBe(false);
  history.begin(NEW, [epoch(NEW, 8)]);
  expect(history.isSuperseded()).toBe(false);
});

test('epochs quoted before the connection do not supersede their own run', () => {
  const started = new EpochHistory();
  started.observe(epoch(NEW, 7));
  const failedOver = connectedTo(OLD, epoch(OLD, 5), epoch(NEW, 6), epoch(NEW, 7));
  for (const history of [started, failedOver]) {
    // The server has lost its data since and has one new epoch.
    history.begin(NEW, [epoch(NEW, 6)]);
    expect(history.isSuperseded()).toBe(false);
  }
});

test('the oldest of many runs are dropped, never the connected one', () => {
  const history = connectedTo(OLD, epoch(OLD, 5));
  for (let setAt = 100; setAt < 200; setAt += 1) history.observe(epoch(String(setAt), setAt));
  expect(history.isSuperseded()).toBe(true);
  expect(history.nextTime(0)).toBe(200);
});

test('two runs with epochs of the same time have one order for all replicas', () => {
  expect(connectedTo(OLD, epoch(OLD, 5), epoch(NEW, 5)).isSuperseded()).toBe(NEW > OLD);
  expect(connectedTo(NEW, epoch(OLD, 5), epoch(NEW, 5)).isSuperseded()).toBe(OLD > NEW);
});

test.each([
  ['an earlier one', { id: OLD, setAt: 5 }, true],
  ['a later one', { id: OLD, setAt: 7 }, false],
  ['one of the same time', { id: OLD, setAt: 6 }, true],
  ['one of the same time with a greater id', { id: 'c'.repeat(40), setAt: 6 }, false],
  ['the connected one', { id: NEW, setAt: 5 }, false],
])('the connected run is compared with %s: %#', (_name, run, isSuperseded) => {
  expect(connectedTo(NEW, epoch(NEW, 6)).supersedes(run)).toBe(isSuperseded);
});

test('a run without an epoch supersedes nothing', () => {
  expect(connectedTo(NEW).supersedes({ id: OLD, setAt: 5 })).toBe(false);
});

test('a reported run counts as an epoch unless it is the connected run', () => {
  const history = connectedTo(OLD, epoch(OLD, 5));
  history.observeRun({ id: OLD, setAt: 9 });
  expect(history.connected()).toEqual({ id: OLD, setAt: 5 });
  history.observeRun({ id: NEW, setAt: 6 });
  expect(history.isSuperseded()).toBe(true);
});

test('a new epoch is later than all of the previous run, regardless of the clock', () => {
  const history = connectedTo(OLD, epoch(OLD, 50));
  history.begin(NEW, []);
  expect(history.nextTime(7)).toBe(51);
});

test('a new epoch is later than all known ones, regardless of the clock', () => {
  const history = connectedTo(OLD, epoch(OLD, 5), epoch(NEW, 60));
  expect([history.nextTime(7), history.nextTime(100)]).toEqual([61, 100]);
});
