import { setTimeout as delay } from 'node:timers/promises';
import { SettlingSystem } from '../billing/settling.js';
import type { BenchContext } from '../context.js';
import type { BenchOptions } from '../options.js';
import { type Report, readMachineFacts, table } from '../report.js';
import { interleave } from '../rounds.js';
import { compare, median } from '../statistics.js';
import { type Case, FIRST_LIST, type FirstList, listCases } from './cases.js';
import { type Person, preparePerson } from './prepare-person.js';
import { weighPages } from './weigh-pages.js';

/** Accounts whose calls are settled meanwhile, and events per message as under load. */
const [SETTLING_ACCOUNTS, EVENTS_OF_MESSAGE] = [1_000, 100];
/** Interval of requests. Equals 25 open overviews with three requests each every 20 s. */
const EVERY_MS = 250;
const [WARM_UPS, QUIET_REQUESTS] = [2, 15];
/** Time limit per case. A slow case is measured fewer times. */
const CASE_MS_MAX = 15_000;
const TIMED_OUT = 503;

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');

/**
 * Measures lists and charts of the pages on one account with all records, idle and while billing
 * settles a backlog at full rate. Also measures how much this slows billing down.
 */
export async function runDashboard(options: BenchOptions, context: BenchContext): Promise<Report> {
  const facts = readMachineFacts();
  const settling = await SettlingSystem.start(context);
  const person = await preparePerson(settling, options.records);
  context.log(`the account has ${grouped(options.records)} records`);
  const cases = listCases(person, (await request(person, FIRST_LIST)).list);
  const idle = new Map<string, number[]>();
  for (const one of cases) {
    context.signal.throwIfAborted();
    const endMs = performance.now() + CASE_MS_MAX;
    for (let n = 0; n < WARM_UPS; n += 1) await request(person, one);
    const times = [(await request(person, one)).ms];
    while (times.length < QUIET_REQUESTS && performance.now() < endMs) times.push((await request(person, one)).ms);
    idle.set(one.name, times);
  }
  const busy = new Map<string, number[]>();
  const rates: { alone: number[]; requested: number[] } = { alone: [], requested: [] };
  const { brokenOff } = await interleave<keyof typeof rates, null>(
    {
      rounds: options.rounds,
      subjects: ['alone', 'requested'],
      cases: [null],
      async measure(subject) {
        const series = { events: options.events, accounts: SETTLING_ACCOUNTS, size: EVENTS_OF_MESSAGE };
        const meanwhile = (isOver: () => boolean) => requestEvery(person, cases, busy, isOver);
        const { perSecond } = await settling.settle(series, subject === 'alone' ? undefined : meanwhile);
        rates[subject].push(perSecond);
      },
    },
    context,
  );
  const factor = compare(rates.alone.map((theirs, round) => ({ ours: rates.requested[round] ?? NaN, theirs })));
  const rows = [...idle].map(([name, times]) => {
    const loaded = busy.get(name) ?? [];
    return [
      name,
      format(median(times)),
      format(Math.max(...times)),
      loaded.length === 0 ? '–' : format(median(loaded)),
    ];
  });
  const text = `Settled events per second, medians of the rounds: ${grouped(factor?.theirs ?? NaN)} alone, ${grouped(factor?.ours ?? NaN)} with one request every ${EVERY_MS} ms. The factor is ${factor?.median.toFixed(3)}.`;
  const { keys, models, members } = person;
  return {
    title: `Lists and charts of the pages at ${grouped(options.records)} usage records`,
    facts: [
      ...facts,
      ['Account', `${keys.length} keys, ${models.length} models, ${members.length} members, records of 20 days`],
      ['Requests', "to the pages' API with a user's session, until the last byte"],
    ],
    brokenOff,
    sections: [
      table('Requests, ms', ['', 'idle: median', 'idle: longest', 'while billing settles: median'], rows, text),
      weighPages(),
    ],
    notes: [],
    samples: { idle: Object.fromEntries(idle), busy: Object.fromEntries(busy), rates },
  };
}

function format(ms: number): string {
  return Number.isFinite(ms) ? ms.toFixed(0) : 'timed out (503)';
}

/** Returns the milliseconds to the last byte, or infinity if the gateway timed out. */
async function request(person: Person, { name, path, entriesMin }: Case): Promise<{ ms: number; list: FirstList }> {
  const begunMs = performance.now();
  const response = await fetch(`${person.url}${path}`, { headers: { cookie: person.cookie } });
  const text = await response.text();
  const ms = performance.now() - begunMs;
  if (response.status === TIMED_OUT) return { ms: Number.POSITIVE_INFINITY, list: { data: [], next_cursor: '' } };
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${text}`);
  const list = JSON.parse(text) as FirstList;
  const entries = list.data?.length ?? 0;
  if (entries < entriesMin) throw new Error(`${name}: ${entries} entries, expected at least ${entriesMin}`);
  return { ms, list };
}

/** Sends a request every EVERY_MS, case after case, and records the times by case. */
async function requestEvery(
  person: Person,
  cases: readonly Case[],
  times: Map<string, number[]>,
  isOver: () => boolean,
): Promise<void> {
  const begunMs = performance.now();
  for (let sent = 0; !isOver(); sent += 1) {
    await delay(Math.max(0, begunMs + sent * EVERY_MS - performance.now()));
    const next = cases[sent % cases.length] ?? FIRST_LIST;
    times.set(next.name, [...(times.get(next.name) ?? []), (await request(person, next)).ms]);
  }
}
