import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/metering';
import { findPostgresTools } from '@gateway/setup';
import { temporaryDirectory, until } from '@gateway/testkit';
import type { OwnSystem } from '../../test/own-system.js';
import { CENT_NANO_USD } from '../../test/prices.js';
import { CREDIT_USD, requestOnce, restoreRelease, startAnsweringProvider } from '../../test/release-data.js';
import { runProgram } from './run-program.js';

const RELEASED = new URL('../../../../tools/operations/released-migrations.json', import.meta.url);
const { releases } = JSON.parse(readFileSync(RELEASED, 'utf8')) as { releases: { version: string }[] };
/** The version of the server that wrote the archives. Older servers cannot restore them. */
const SERVER_MIN = 14;
const withTools = findPostgresTools(SERVER_MIN, process.env) === null ? test.skip : test;

let system: OwnSystem | undefined;
const directory = temporaryDirectory('released');
afterEach(async () => {
  await system?.stop();
  directory.remove();
}, 60_000);

/** Each archive is written by `npm run write-release -w tests/e2e -- <version>`. */
withTools.each(releases.map(({ version }) => version))(
  'a system of %s is restored, upgraded and serves',
  async (version) => {
    const provider = await startAnsweringProvider();
    const [upgraded, data] = await restoreRelease(version, directory.path);
    system = upgraded;
    try {
      const { operator } = upgraded;
      const [payer, subscriber] = data.accounts;
      if (payer === undefined || subscriber === undefined) throw new Error('the archive has no accounts');
      const chargedUsd = (requests: number): string =>
        formatUsd(parseUsd(CREDIT_USD) - BigInt(requests) * CENT_NANO_USD);
      // Settles the messages of the stream.
      const paid = data.settled + data.unsettled;
      await until('the messages are settled', async () => (await operator.records(payer.account)).length === paid);
      expect(await operator.walletUsd(payer.account)).toBe(chargedUsd(paid));
      expect(await operator.walletUsd(subscriber.account)).toBe(chargedUsd(0));
      expect(await operator.records(subscriber.account)).toHaveLength(data.settled);
      // The stored credential can be opened, and old keys are known.
      for (const source of data.model.sources) {
        const { body } = await operator.request('GET', `/sources/${source}`);
        const { upstreamModel, endpoints, priority, modelId, providerId } = body as Record<string, unknown>;
        const spec = { modelId, providerId, upstreamModel, endpoints, priority, baseUrl: provider.url };
        await operator.putInForce(`/sources/${source}`, spec);
      }
      for (const account of [payer, subscriber]) await requestOnce(upgraded, account, data.model.id);
      expect(provider.credentials).toEqual(Array(2).fill(`Bearer credential-of-${data.model.sources[0]}`));
      await until(
        'the new request is settled',
        async () => (await operator.records(payer.account)).length === paid + 1,
      );
      expect(await operator.walletUsd(payer.account)).toBe(chargedUsd(paid + 1));
      expect(await runProgram('audit', [], upgraded)).toMatchObject({ code: 0 });
    } finally {
      await provider.close();
    }
  },
  240_000,
);
