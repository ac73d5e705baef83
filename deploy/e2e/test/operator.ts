import { randomBytes } from 'node:crypto';
import { until } from '@gateway/testkit';
import { connectBus } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import { DEFAULT_KEY_PREFIX, digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import {
  accountsCreateAccount,
  accountsCreateKey,
  billingAddWalletEntry,
  billingPutLimits,
  billingUsageRecord,
  billingUsageRecords,
  billingWallet,
  catalogPutModel,
  catalogPutProvider,
  catalogPutSource,
} from '@gateway/contracts/messages';
import type { AnswerOf } from '@gateway/contracts/messages';
import type { LedgerTransactionView, PricesSpec, SourceSpec, UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { Secret, seal } from '@gateway/service-kit';

const ACTOR = 'e2e';

export interface OperatorAccess {
  readonly natsUrl: string;
  readonly keyPepper: string;
  /** 32 bytes as hexadecimal. */
  readonly credentialsKey: string;
}

export interface TestAccount {
  readonly account: string;
  readonly key: string;
  readonly secret: string;
}

export interface TestModel {
  readonly id: string;
  readonly sources: readonly string[];
}

/** What the tests do as an operator: over the bus, with the rights of the dashboard, through the services' own verbs. */
export class TestOperator {
  readonly #bus: Bus;
  readonly #access: OperatorAccess;

  private constructor(bus: Bus, access: OperatorAccess) {
    this.#bus = bus;
    this.#access = access;
  }

  static async connect(access: OperatorAccess): Promise<TestOperator> {
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const replica = `e2e-${randomBytes(4).toString('hex')}`;
    return new TestOperator(await connectBus({ url: access.natsUrl, service: 'dashboard', replica, log }), access);
  }

  async close(): Promise<void> {
    await this.#bus.drain(1_000);
  }

  /** An account of its own with that credit and one key. */
  async account(creditUsd: string, key: { capUsd?: string; allowedModels?: string[] } = {}): Promise<TestAccount> {
    const name = `e2e-${randomBytes(6).toString('hex')}`;
    const { account } = accepted(
      await this.#bus.request(accountsCreateAccount, {
        spec: { name, email: `${name}@example.com`, emailVerified: true },
        actor: ACTOR,
      }),
    );
    await this.credit(account.id, creditUsd);
    return { account: account.id, ...(await this.key(account.id, key)) };
  }

  async credit(account: string, amountUsd: string): Promise<void> {
    const spec = { amountUsd, kind: amountUsd.startsWith('-') ? 'adjustment' : 'credit', reason: 'test' } as const;
    const reference = `e2e-${randomBytes(8).toString('hex')}`;
    accepted(await this.#bus.request(billingAddWalletEntry, { account, spec: { ...spec, reference }, actor: ACTOR }));
  }

  /** Lifts what an account without a plan may do in a minute and at once. */
  async limits(account: string, requestsPerMinute: number, concurrency: number): Promise<void> {
    accepted(
      await this.#bus.request(billingPutLimits, { account, spec: { requestsPerMinute, concurrency }, actor: ACTOR }),
    );
  }

  async key(
    account: string,
    spec: { capUsd?: string; allowedModels?: string[] } = {},
  ): Promise<{ key: string; secret: string }> {
    const secret = makeSecret(DEFAULT_KEY_PREFIX);
    const { key } = accepted(
      await this.#bus.request(accountsCreateKey, {
        account,
        spec: { name: 'e2e', monthlySpendCapUsd: spec.capUsd ?? null, allowedModels: spec.allowedModels ?? null },
        digest: digestOfSecret(secret, this.#access.keyPepper),
        maskedSecret: maskSecret(secret),
        actor: ACTOR,
      }),
    );
    return { key: key.id, secret };
  }

  /** A model of its own with a source for each of the base URLs, the first one preferred. */
  async model(
    prices: PricesSpec | null,
    baseUrls: readonly string[],
    source: Partial<SourceSpec> = {},
  ): Promise<TestModel> {
    const name = randomBytes(6).toString('hex');
    const id = `test/${name}`;
    accepted(
      await this.#bus.request(catalogPutProvider, { id: 'e2e', spec: { name: 'e2e', format: 'openai' }, actor: ACTOR }),
    );
    accepted(
      await this.#bus.request(catalogPutModel, { id, spec: { displayName: name, kind: 'chat', prices }, actor: ACTOR }),
    );
    const key = { current: new Secret(Buffer.from(this.#access.credentialsKey, 'hex')) };
    const sources: string[] = [];
    for (const [index, baseUrl] of baseUrls.entries()) {
      const sourceId = `${name}-${index}`;
      accepted(
        await this.#bus.request(catalogPutSource, {
          id: sourceId,
          spec: {
            modelId: id,
            providerId: 'e2e',
            baseUrl,
            upstreamModel: `up-${name}`,
            endpoints: ['/v1/chat/completions'],
            priority: index,
            ...source,
          },
          sealedCredential: seal(`credential-of-${sourceId}`, sourceId, key),
          actor: ACTOR,
        }),
      );
      sources.push(sourceId);
    }
    return { id, sources };
  }

  async walletUsd(account: string): Promise<string | null> {
    return (await this.#bus.request(billingWallet, { account })).balanceUsd;
  }

  /** The record of an ended call with its ledger transactions; waits until it is settled. */
  record(
    requestId: string,
    timeoutMs?: number,
  ): Promise<{ record: UsageRecordView; transactions: LedgerTransactionView[] }> {
    return until(`the usage record of ${requestId}`, () => this.findRecord(requestId), timeoutMs);
  }

  /** The record of the only call of an account, for a client that left before it could read the id. */
  async onlyRecord(account: string): Promise<UsageRecordView> {
    const page = { account, from: null, to: null, cursor: null, limit: 2 };
    const records = await until(`the usage record of ${account}`, async () => {
      const { records: found } = await this.#bus.request(billingUsageRecords, page);
      return found.length > 0 && found;
    });
    const [record] = records;
    if (record === undefined || records.length > 1) throw new Error(`${account} has ${records.length} records`);
    return record;
  }

  /** The sum of all charges of an account, each id counted once; throws when an id is listed twice. */
  async chargedRecords(account: string): Promise<{ count: number; total: bigint }> {
    const ids = new Set<string>();
    let total = 0n;
    for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
      const page = { account, from: null, to: null, cursor, limit: 200 };
      const answer: AnswerOf<typeof billingUsageRecords> = await this.#bus.request(billingUsageRecords, page);
      for (const record of answer.records) {
        if (ids.has(record.requestId)) throw new Error(`${record.requestId} has two records`);
        ids.add(record.requestId);
        total += parseUsd(record.chargedUsd);
      }
      cursor = answer.nextCursor;
    }
    return { count: ids.size, total };
  }

  async findRecord(
    requestId: string,
  ): Promise<{ record: UsageRecordView; transactions: LedgerTransactionView[] } | undefined> {
    const answer = await this.#bus.request(billingUsageRecord, { requestId });
    return 'refused' in answer ? undefined : answer;
  }
}

function accepted<T extends object>(answer: T): Exclude<T, { refused: unknown }> {
  if ('refused' in answer) throw new Error(`refused: ${JSON.stringify(answer.refused)}`);
  return answer as Exclude<T, { refused: unknown }>;
}
