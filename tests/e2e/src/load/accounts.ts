import { formatUsd } from '@gateway/metering';
import type { TestOperator } from '../../test/operator.js';
import { CENT, CENT_NANO_USD } from '../../test/prices.js';
import type { ClientCall, ModelOfRun, Terms, Tokens } from '../evidence/evidence.js';

export interface RunAccount {
  readonly terms: Terms;
  readonly secret: string;
  readonly model: ModelOfRun;
  readonly workers: number;
}

/** A wallet that no run can exhaust. */
export const RICH_NANO_USD = 1_000_000_000_000_000n;
const MANY_SLOTS = 500;
const FEW_SLOTS = 4;
const FEW_PER_MINUTE = 120;
const PER_MINUTE_MAX = 1_000_000;
/** A limit that counts calls or cents allows one in 25 of the run's calls. */
const ONE_FITS_IN = 25;
const DAY_MS = 86_400_000;

/** Creates accounts one by one: without an effective limit, and one for each limit under test. */
export async function arrangeAccounts(operator: TestOperator, calls: number): Promise<RunAccount[]> {
  const fit = Math.ceil(calls / ONE_FITS_IN);
  const cents = BigInt(fit) * CENT_NANO_USD;
  return [
    await payer(operator, { model: 'rated', workers: 5 }),
    await payer(operator, { model: 'rated', workers: 5 }),
    await payer(operator, { model: 'cancelled', workers: 4 }),
    await payer(operator, { model: 'rated', workers: 7, slots: FEW_SLOTS }),
    await payer(operator, { model: 'cent', workers: 4, creditNanoUsd: cents }),
    await payer(operator, { model: 'cent', workers: 4, keyCapNanoUsd: cents }),
    await payer(operator, { model: 'rated', workers: 2, requestsPerMinute: FEW_PER_MINUTE }),
    await subscriber(operator, fit),
  ];
}

export interface Payer extends Partial<Terms> {
  readonly model: ModelOfRun;
  readonly workers: number;
}

/** Creates an account with a large wallet. Only the limits in the parameters have an effect. */
export async function payer(operator: TestOperator, { model, workers, ...bound }: Payer): Promise<RunAccount> {
  const { id } = await operator.emptyAccount();
  const terms = { ...UNBOUND, account: id, ...bound };
  await operator.credit(id, formatUsd(terms.creditNanoUsd));
  await operator.limits(id, terms.requestsPerMinute ?? PER_MINUTE_MAX, terms.slots);
  const { keyCapNanoUsd } = terms;
  const { secret } = await operator.key(id, keyCapNanoUsd === null ? {} : { capUsd: formatUsd(keyCapNanoUsd) });
  return { terms, secret, model, workers };
}

/** Creates an account without credit, on a plan with a monthly window that counts requests. */
async function subscriber(operator: TestOperator, windowRequests: number): Promise<RunAccount> {
  const { id } = await operator.emptyAccount();
  const planId = await operator.plan({
    requestsPerMinute: PER_MINUTE_MAX,
    concurrency: MANY_SLOTS,
    windows: [{ type: 'monthly', unit: 'requests', limit: windowRequests }],
  });
  const now = Date.now();
  await operator.subscribe(id, planId, { startMs: now - DAY_MS, endMs: now + 29 * DAY_MS });
  const { secret } = await operator.key(id);
  const terms = { ...UNBOUND, account: id, creditNanoUsd: 0n, windowRequests };
  return { terms, secret, model: 'cent', workers: 4 };
}

const UNBOUND = {
  creditNanoUsd: RICH_NANO_USD,
  slots: MANY_SLOTS,
  requestsPerMinute: null,
  windowRequests: null,
  keyCapNanoUsd: null,
};

// Computes the charge of a call, independently of the project's own arithmetic.
/**
 * Prices in the format of the operator API. Their digits force a rounding, and make different
 * mistakes give different sums.
 */
export const RUN_PRICES = {
  rated: { inputPerMillion: '0.0037', outputPerMillion: '0.000691', perCall: '0.000001' },
  cancelled: { inputPerMillion: '0.0037', outputPerMillion: '0.000691', perCall: '0.000001' },
  cent: CENT,
} as const satisfies Record<ModelOfRun, object>;

/** The same prices in nano-USD; tokens per million. */
const RATED = { input: 3_700_000n, output: 691_000n, perCall: 1_000n };
const FIGURES = { rated: RATED, cancelled: RATED, cent: { input: 0n, output: 0n, perCall: CENT_NANO_USD } };
const MILLION = 1_000_000n;
/** More input tokens than any prompt of a run has. */
const INPUT_MAX = 1_000;
/** More tokens than a call allows above the reported number. */
const OUTPUT_ABOVE = 16;

/** Rounds half up, once, at the end. */
export function chargeOf(model: ModelOfRun, { input, output }: Tokens): bigint {
  const figures = FIGURES[model];
  const millionths = BigInt(input) * figures.input + BigInt(output) * figures.output;
  return (2n * millionths + MILLION) / (2n * MILLION) + figures.perCall;
}

/** Returns the highest possible charge of a call, whether its usage is reported or estimated. */
export function chargeMax({ model, n }: Pick<ClientCall, 'model' | 'n'>): bigint {
  return chargeOf(model, { input: INPUT_MAX, output: n + OUTPUT_ABOVE });
}
