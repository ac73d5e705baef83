import { randomBytes } from 'node:crypto';
import type { AccountView, KeyCreated, ModelSpec, SourcePut } from '@gateway/contracts/operator';
import { ENDPOINTS } from '@gateway/contracts/messages';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator, ScriptStep } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { closeConnections } from './contract-call.js';
import { connectRedis, isEmpty, readLimitStore } from './limit-store.js';
import { sharedSystem } from './system.js';
import type { SharedSystem } from './system.js';
import type { TestAccount, TestOperator } from './operator.js';

/** A model whose sources are the simulator's listeners. */
export interface ContractModel {
  readonly id: string;
  /** Its name at the simulator. */
  readonly upstream: string;
}

export interface ModelOptions {
  readonly model?: Partial<ModelSpec>;
  /** Fields of each of its sources. */
  readonly source?: Partial<SourcePut>;
  /** One source for each URL. Absent: the simulator's first listener. */
  readonly baseUrls?: readonly string[];
}

/** Prices of one cent per call, independent of tokens, so that the hold equals the charge. */
export const CENT = { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' };
const EMBEDDINGS = '/v1/embeddings';

/** Returns the model options that the endpoint needs. */
export function kindFor(path: string): ModelOptions {
  return path === EMBEDDINGS ? { model: { kind: 'embedding' } } : {};
}

const PROVIDER = { id: 'contract', spec: { name: 'contract', format: 'openai' } };

/**
 * The shared system, a provider for one test file, and helpers that create objects over the
 * operator API.
 */
export class ContractSystem {
  readonly system: SharedSystem;
  readonly simulator: ProviderSimulator;
  /** An account with money and high limits. */
  readonly rich: TestAccount;
  /** Serves every endpoint except embeddings. */
  readonly model: ContractModel;
  readonly embeddingModel: ContractModel;

  private constructor(
    system: SharedSystem,
    simulator: ProviderSimulator,
    rich: TestAccount,
    models: readonly [ContractModel, ContractModel],
  ) {
    this.system = system;
    this.simulator = simulator;
    this.rich = rich;
    [this.model, this.embeddingModel] = models;
  }

  static async begin(): Promise<ContractSystem> {
    const system = sharedSystem();
    const simulator = await startProviderSimulator();
    await system.operator.must('PUT', `/providers/${PROVIDER.id}`, PROVIDER.spec);
    const rich = await richAccount(system.operator);
    const model = await newModel(system.operator, [simulator.urls[0]], {});
    const embedding = await newModel(system.operator, [simulator.urls[0]], { model: { kind: 'embedding' } });
    return new ContractSystem(system, simulator, rich, [model, embedding]);
  }

  get operator(): TestOperator {
    return this.system.operator;
  }

  /** URL of the first edge. */
  get url(): string {
    return this.system.edgeUrls[0] ?? '';
  }

  /** Returns the model that serves the endpoint. */
  modelFor(path: string): ContractModel {
    return path === EMBEDDINGS ? this.embeddingModel : this.model;
  }

  makeModel(options: ModelOptions = {}): Promise<ContractModel> {
    return newModel(this.operator, options.baseUrls ?? [this.simulator.urls[0]], options);
  }

  /** Creates a model whose next calls are answered by these steps. */
  async scripted(steps: readonly ScriptStep[], options: ModelOptions = {}, times = 1_000): Promise<ContractModel> {
    const model = await this.makeModel(options);
    this.simulator.script({ model: model.upstream, times, steps: [...steps] });
    return model;
  }

  /** Replaces the only source of a model from {@link makeModel}, with these fields changed. */
  async putSource(model: ContractModel, fields: Partial<SourcePut>): Promise<void> {
    const spec = sourceSpecOf(model, this.simulator.urls[0], 0, fields);
    await this.operator.putInForce(`/sources/${sourceIdOf(model, 0)}`, spec);
  }

  richAccount(): Promise<TestAccount> {
    return richAccount(this.operator);
  }

  /** Creates a team account without money and keys. */
  async teamAccount(): Promise<AccountView> {
    const name = `team-${randomBytes(6).toString('hex')}`;
    const spec = { name, email: `${name}@example.com`, emailVerified: true, type: 'team' };
    return this.operator.must<AccountView>('POST', '/accounts', spec);
  }

  createKey(account: string, spec: object): Promise<KeyCreated> {
    return this.operator.must('POST', `/accounts/${account}/keys`, { name: 'contract', ...spec });
  }

  /** Returns the record of a call after the limit store has received its charge. */
  async settled(account: string, requestId: string): ReturnType<TestOperator['record']> {
    const found = await this.operator.record(requestId);
    const redis = connectRedis(this.system.redisUrl);
    try {
      await until('nothing is held', async () => isEmpty(await readLimitStore(redis, account)));
    } finally {
      redis.disconnect();
    }
    return found;
  }

  /** Sets the cap of an account's owner. Null removes it. */
  async capOwner({ id, email, ownerMemberId }: AccountView, monthlySpendCapUsd: string | null): Promise<void> {
    const put = { email, emailVerified: true, role: 'owner', monthlySpendCapUsd };
    await this.operator.must('PUT', `/accounts/${id}/members/${ownerMemberId}`, put);
  }

  /** Creates a plan and subscribes the account for thirty days from a minute ago. */
  async subscribe(account: string, plan: object, periodStart = Date.now() - 60_000): Promise<{ periodEnd: string }> {
    const planId = `plan-${randomBytes(6).toString('hex')}`;
    await this.operator.must('PUT', `/plans/${planId}`, { name: 'Contract', tier: 'contract', models: null, ...plan });
    const periodEnd = new Date(periodStart + 30 * 86_400_000).toISOString();
    const period = { periodStart: new Date(periodStart).toISOString(), periodEnd };
    await this.operator.must('PUT', `/accounts/${account}/subscription`, { planId, ...period });
    return { periodEnd };
  }

  async stop(): Promise<void> {
    await this.simulator.close();
    await closeConnections();
  }
}

export function startContractWorld(): Promise<ContractSystem> {
  return ContractSystem.begin();
}

async function richAccount(operator: TestOperator): Promise<TestAccount> {
  const account = await operator.account('1000.00');
  await operator.limits(account.account, 1_000_000, 1_000);
  return account;
}

async function newModel(
  operator: TestOperator,
  baseUrls: readonly string[],
  { model, source = {} }: ModelOptions,
): Promise<ContractModel> {
  const name = randomBytes(6).toString('hex');
  const made = { id: `contract/${name}`, upstream: `up-${name}` };
  const spec = { displayName: name, kind: 'chat', prices: CENT, ...model };
  await operator.putInForce(`/models/${made.id}`, spec);
  for (const [priority, baseUrl] of baseUrls.entries()) {
    await operator.putInForce(`/sources/${sourceIdOf(made, priority)}`, sourceSpecOf(made, baseUrl, priority, source));
  }
  return made;
}

function sourceIdOf({ upstream }: ContractModel, priority: number): string {
  return `${upstream}-${priority}`;
}

function sourceSpecOf(
  { id, upstream }: ContractModel,
  baseUrl: string,
  priority: number,
  fields: Partial<SourcePut>,
): object {
  return {
    modelId: id,
    providerId: PROVIDER.id,
    baseUrl,
    upstreamModel: upstream,
    endpoints: ENDPOINTS,
    priority,
    credential: `credential-of-${upstream}`,
    ...fields,
  };
}
