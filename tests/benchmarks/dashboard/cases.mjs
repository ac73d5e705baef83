// The measured requests: each list and chart of the pages, with the queries of the pages.

const DAY_MS = 86_400_000;

/**
 * Returns the name, the path with query, and the minimum number of entries of each case. Without
 * the minimum, an empty response would count as fast.
 */
export async function casesOf(person, { keys, models, members }) {
  const now = Date.now();
  const iso = (ms) => encodeURIComponent(new Date(ms).toISOString());
  const span = (days) => `from=${iso(now - days * DAY_MS)}&to=${iso(now + DAY_MS)}`;
  const month = new Date(now).toISOString().slice(0, 7);
  const list = (more = '') => `/usage-records?limit=50${more}`;
  const series = (days, by, groupBy) => `/usage-series?${span(days)}&by=${by}&groupBy=${groupBy}`;
  const answer = await fetch(`${person.url}${list()}`, { headers: { cookie: person.cookie } });
  if (answer.status !== 200) throw new Error(`the first list: ${answer.status} ${await answer.text()}`);
  const first = await answer.json();
  const [newest] = first.data;
  return [
    { name: 'Usage: newest 50', path: list(), entries: 50 },
    { name: 'Usage: next 50', path: list(`&cursor=${encodeURIComponent(first.next_cursor)}`), entries: 50 },
    { name: 'Usage: 50 of ten days ago', path: list(`&to=${iso(now - 10 * DAY_MS)}`), entries: 50 },
    { name: 'Usage: of one key', path: list(`&keyId=${keys[7]}`), entries: 50 },
    { name: 'Usage: of one model', path: list(`&modelId=${encodeURIComponent(models[3])}`), entries: 50 },
    { name: 'Usage: of one member', path: list(`&memberId=${members[0]}`), entries: 50 },
    { name: 'Usage: an outcome that no call has', path: list('&outcome=expired'), entries: 0 },
    { name: 'Usage: a key that was never used', path: list('&keyId=key_unused'), entries: 0 },
    { name: 'Usage: one call with its ledger', path: `/usage-records/${newest.requestId}`, entries: 0 },
    { name: 'Overview: 90 days by day and model', path: series(90, 'day', 'model'), entries: 100 },
    { name: 'Overview: 30 days by day and key', path: series(30, 'day', 'key'), entries: 100 },
    { name: 'Overview: 7 days by hour and model', path: series(7, 'hour', 'model'), entries: 500 },
    { name: 'Overview: 24 hours by hour', path: series(1, 'hour', 'none'), entries: 20 },
    { name: 'Overview: windows, wallet and plan', path: '/overview', entries: 0 },
    { name: 'Overview: refused calls of 30 days', path: `/refusals?${span(30)}`, entries: 50 },
    { name: 'Keys with their month', path: '/keys?limit=200', entries: keys.length },
    { name: 'Billing: ledger, newest 50', path: '/ledger?limit=50', entries: 50 },
    { name: 'Billing: statement of the month', path: `/statement?month=${month}`, entries: 0 },
  ];
}
