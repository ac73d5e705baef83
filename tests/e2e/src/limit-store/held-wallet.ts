import type { ProviderSimulator } from '@gateway/provider-simulator';
import { HELLO, chat } from '../../test/call.js';
import { type Caller, type ClientResult, type Load, startLoad } from '../../test/load.js';
import type { TestModel } from '../../test/operator.js';
import { CENT_NANO_USD } from '../../test/prices.js';
import type { OwnSystem } from '../../test/own-system.js';
import { type OpenStream, openStreams, scriptHeldStreams } from '../../test/streams.js';
import { type Comparison, compareLedger, wrongAnswers } from './compare-ledger.js';

/** The wallet has one cent per stream. The streams run until {@link HeldWallet.end}. */
export const HELD_STREAMS = 5;
export const HELD_CREDIT_USD = '0.05';
const SPENDING = { atOnce: 2, pauseMs: 60 };

/**
 * A wallet that running streams hold completely, and a client that tries to spend it a second time.
 */
export class HeldWallet {
  private constructor(
    private readonly system: OwnSystem,
    private readonly simulator: ProviderSimulator,
    private readonly model: TestModel,
    private readonly caller: Caller,
    private readonly streams: readonly OpenStream[],
  ) {}

  /**
   * Opens the streams over all edges. `caller` has {@link HELD_CREDIT_USD}, and `model` costs one
   * `CENT` per call.
   */
  static async open(
    system: OwnSystem,
    simulator: ProviderSimulator,
    model: TestModel,
    caller: Caller,
  ): Promise<HeldWallet> {
    scriptHeldStreams(simulator, upstreamOf(model), HELD_STREAMS);
    const { edgeUrls } = system.local.running();
    const streams = await openStreams(HELD_STREAMS, edgeUrls, caller, model.id);
    return new HeldWallet(system, simulator, model, caller, streams);
  }

  get account(): string {
    return this.caller.account;
  }

  /** Starts a load at every edge. */
  spend(): Load {
    const { edgeUrls } = this.system.local.running();
    return startLoad({ urls: edgeUrls, model: this.model.id, callers: [this.caller], ...SPENDING });
  }

  /**
   * Lets the streams end, and expects that the wallet is then empty. Returns one sentence per
   * difference.
   */
  async end(spent: readonly ClientResult[]): Promise<string[]> {
    this.simulator.release(upstreamOf(this.model), this.streams.length);
    const differences = wrongAnswers(spent, ['402 insufficient_credits']);
    for (const { requestId, ended } of this.streams) {
      if (!(await ended).complete) differences.push(`${requestId} was open during the loss and did not end complete`);
    }
    for (const url of this.system.local.running().edgeUrls) {
      const body = { model: this.model.id, messages: HELLO };
      const { status, text } = await chat(`${url}/v1/chat/completions`, this.caller.secret, body);
      if (status !== 402) differences.push(`the empty wallet got a ${status}: ${text}`);
    }
    return differences;
  }

  /** Compares the ledger: each stream was charged one cent, and no other call was charged. */
  compare(spent: readonly ClientResult[]): Promise<Comparison> {
    const calls = [
      ...this.streams.map(({ requestId }) => ({ requestId, chargeNanoUsd: CENT_NANO_USD })),
      ...spent.flatMap(({ requestId }) => (requestId === null ? [] : [{ requestId, chargeNanoUsd: null }])),
    ];
    return compareLedger(this.system.operator, this.account, HELD_CREDIT_USD, calls);
  }
}

function upstreamOf(model: TestModel): string {
  return `up-${model.id.slice(model.id.indexOf('/') + 1)}`;
}
