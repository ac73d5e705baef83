import { randomBytes } from 'node:crypto';
import type {
  AccountView,
  KeyCreated,
  KeyView,
  LedgerTransactionView,
  PlanSpec,
  PricesSpec,
  SlotView,
  SourcePut,
  UsageRecordView,
} from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { createResponseCheck } from './openapi.js';
import type { CheckResponse } from './openapi.js';

export interface OperatorAccess {
  /** Includes `/operator/v1`. */
  readonly operatorUrl: string;
  readonly operatorToken: string;
}

export interface TestAccount {
  readonly account: string;
  readonly key: string;
  readonly secret: string;
}

/** [startMs, endMs), epoch milliseconds. */
export interface TestPeriod {
  readonly startMs: number;
  readonly endMs: number;
}

export interface TestModel {
  readonly id: string;
  readonly sources: readonly string[];
}

/** An unchanged response of the operator API. */
export interface OperatorAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed. Null without a body. */
  readonly body: unknown;
}

interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

const PAGE_MAX = 200;
const ANSWER_MS_MAX = 30_000;

/** Operator actions of the tests, all over the operator API. */
export class TestOperator {
  readonly #access: OperatorAccess;
  #check: Promise<CheckResponse> | null = null;

  constructor(access: OperatorAccess) {
    this.#access = access;
  }

  /**
   * Sends any request and returns its response. `path` begins after `/operator/v1`. @throws Error
   * if the response does not match the OpenAPI document
   */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<OperatorAnswer> {
    const response = await fetch(`${this.#access.operatorUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#access.operatorToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? null : JSON.parse(text);
    const wrong = (await this.#checkAnswer())(method, path, response.status, parsed);
    if (wrong !== null) throw new Error(`${method} ${path}: ${response.status} ${text} is not as documented: ${wrong}`);
    return { status: response.status, headers: response.headers, body: parsed };
  }

  /** Returns the check against the API's own document, which is fetched once. */
  #checkAnswer(): Promise<CheckResponse> {
    this.#check ??= fetch(`${this.#access.operatorUrl}/openapi.json`)
      .then((response) => response.json())
      .then((document) => createResponseCheck(document as Parameters<typeof createResponseCheck>[0]));
    return this.#check;
  }

  /** Sends a request that must succeed. */
  async must<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, body: answer } = await this.request(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer as T;
  }

  /** Creates an account with this credit and one key. */
  async account(creditUsd: string, key: { capUsd?: string; allowedModels?: string[] } = {}): Promise<TestAccount> {
    const { id } = await this.emptyAccount();
    await this.credit(id, creditUsd);
    return { account: id, ...(await this.key(id, key)) };
  }

  /** Creates an account without money, plan and keys. */
  emptyAccount(type: 'personal' | 'team' = 'personal'): Promise<AccountView> {
    const name = `e2e-${randomBytes(6).toString('hex')}`;
    return this.must('POST', '/accounts', { name, email: `${name}@example.com`, emailVerified: true, type });
  }

  /** Creates a plan, by default for every model. Returns its ID. */
  async plan(spec: Partial<PlanSpec>): Promise<string> {
    const id = `plan-${randomBytes(6).toString('hex')}`;
    await this.must('PUT', `/plans/${id}`, { name: 'End to end', tier: 'e2e', models: null, ...spec });
    return id;
  }

  /** Subscribes an account to a plan. Resolves when it is in force. */
  async subscribe(account: string, planId: string, period: TestPeriod): Promise<void> {
    await this.must('PUT', `/accounts/${account}/subscription`, {
      planId,
      periodStart: new Date(period.startMs).toISOString(),
      periodEnd: new Date(period.endMs).toISOString(),
    });
  }

  async credit(account: string, amountUsd: string): Promise<void> {
    await this.must('POST', `/accounts/${account}/wallet/entries`, {
      amountUsd,
      kind: amountUsd.startsWith('-') ? 'adjustment' : 'credit',
      reason: 'test',
      reference: `e2e-${randomBytes(8).toString('hex')}`,
    });
  }

  /** Raises the limits per minute and of concurrent requests for an account without a plan. */
  async limits(account: string, requestsPerMinute: number, concurrency: number): Promise<void> {
    await this.must('PUT', `/accounts/${account}/limits`, { requestsPerMinute, concurrency, maxActiveKeys: 10_000 });
  }

  async key(
    account: string,
    spec: { capUsd?: string; allowedModels?: string[]; expiresAt?: string } = {},
  ): Promise<{ key: string; secret: string }> {
    const { id, secret } = await this.must<KeyCreated>('POST', `/accounts/${account}/keys`, {
      name: 'e2e',
      monthlySpendCapUsd: spec.capUsd ?? null,
      allowedModels: spec.allowedModels ?? null,
      ...(spec.expiresAt === undefined ? {} : { expiresAt: spec.expiresAt }),
    });
    if (secret === null) throw new Error(`key ${id} was created without a secret`);
    return { key: id, secret };
  }

  /** Returns the new secret. */
  async rotate(key: string): Promise<string> {
    const { secret } = await this.must<KeyCreated>('POST', `/keys/${key}/rotate`);
    if (secret === null) throw new Error(`key ${key} was rotated without a secret`);
    return secret;
  }

  setKey(key: string, verb: 'revoke' | 'suspend' | 'reinstate'): Promise<KeyView> {
    return this.must('POST', `/keys/${key}/${verb}`);
  }

  setAccount(account: string, verb: 'suspend' | 'reinstate'): Promise<AccountView> {
    return this.must('POST', `/accounts/${account}/${verb}`);
  }

  /** Creates a model with a source for each base URL. The first source has priority. */
  async model(
    prices: PricesSpec | null,
    baseUrls: readonly string[],
    source: Partial<SourcePut> = {},
  ): Promise<TestModel> {
    const name = randomBytes(6).toString('hex');
    const id = `test/${name}`;
    await this.must('PUT', '/providers/e2e', { name: 'e2e', format: 'openai' });
    await this.putInForce(`/models/${id}`, { displayName: name, kind: 'chat', prices });
    const sources: string[] = [];
    for (const [index, baseUrl] of baseUrls.entries()) {
      const sourceId = `${name}-${index}`;
      await this.putInForce(`/sources/${sourceId}`, {
        modelId: id,
        providerId: 'e2e',
        baseUrl,
        upstreamModel: `up-${name}`,
        endpoints: ['/v1/chat/completions'],
        priority: index,
        credential: `credential-of-${sourceId}`,
        ...source,
      });
      sources.push(sourceId);
    }
    return { id, sources };
  }

  /**
   * Saves a part of the catalog and repeats that until it is in force everywhere, for at most 20 s.
   * One request waits for three seconds.
   */
  putInForce<T extends object>(path: string, spec: object): Promise<T> {
    return until(`${path} is in force`, async () => {
      const saved = await this.must<T & { readonly inForce: boolean }>('PUT', path, spec);
      return saved.inForce ? saved : null;
    });
  }

  /**
   * Waits until an account has this number of slots taken. Tolerates failed responses of admission.
   */
  async untilSlots(account: string, wanted: number): Promise<void> {
    await until(`${account} has ${wanted} slots taken`, async () => {
      const { status, body } = await this.request('GET', `/slots?accountId=${account}`);
      return status === 200 && (body as Page<SlotView>).data.length === wanted;
    });
  }

  async walletUsd(account: string): Promise<string | null> {
    return (await this.must<{ balanceUsd: string | null }>('GET', `/accounts/${account}/wallet`)).balanceUsd;
  }

  /** Returns every entry of a list from all its pages. */
  async all<T>(path: string): Promise<T[]> {
    const entries: T[] = [];
    const separator = path.includes('?') ? '&' : '?';
    for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
      const rest: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: Page<T> = await this.must('GET', `${path}${separator}limit=${PAGE_MAX}${rest}`);
      entries.push(...page.data);
      cursor = page.next_cursor;
    }
    return entries;
  }

  /**
   * Returns the record of an ended call with its ledger transactions. Waits until it is settled.
   */
  record(
    requestId: string,
    timeoutMs?: number,
  ): Promise<{ record: UsageRecordView; transactions: LedgerTransactionView[] }> {
    return until(`the usage record of ${requestId}`, () => this.findRecord(requestId), timeoutMs);
  }

  /** Returns only the record. The account's ledger is long under load. */
  usageRecord(requestId: string, timeoutMs?: number): Promise<UsageRecordView> {
    return until(`the usage record of ${requestId}`, () => this.#findUsageRecord(requestId), timeoutMs);
  }

  /** Returns the record of an account's only call, if its client left before it read the ID. */
  async onlyRecord(account: string): Promise<UsageRecordView> {
    const records = await until(`the usage record of ${account}`, async () => {
      const found = await this.records(account);
      return found.length > 0 && found;
    });
    const [record] = records;
    if (record === undefined || records.length > 1) throw new Error(`${account} has ${records.length} records`);
    return record;
  }

  /** Returns all usage records of an account, newest first. */
  records(account: string): Promise<UsageRecordView[]> {
    return this.all(`/usage-records?accountId=${account}`);
  }

  /** Returns the number and sum of an account's charges. @throws Error if an ID is listed twice */
  async chargedRecords(account: string): Promise<{ count: number; total: bigint }> {
    const ids = new Set<string>();
    let total = 0n;
    for (const record of await this.records(account)) {
      if (ids.has(record.requestId)) throw new Error(`${record.requestId} has two records`);
      ids.add(record.requestId);
      total += parseUsd(record.chargedUsd);
    }
    return { count: ids.size, total };
  }

  async findRecord(
    requestId: string,
  ): Promise<{ record: UsageRecordView; transactions: LedgerTransactionView[] } | undefined> {
    const record = await this.#findUsageRecord(requestId);
    if (record === undefined) return undefined;
    const ledger = await this.all<LedgerTransactionView>(`/accounts/${record.accountId}/ledger`);
    return { record, transactions: ledger.filter((transaction) => transaction.requestId === requestId) };
  }

  async #findUsageRecord(requestId: string): Promise<UsageRecordView | undefined> {
    const answer = await this.request('GET', `/usage-records/${requestId}`);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw new Error(`usage record: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as UsageRecordView;
  }
}
