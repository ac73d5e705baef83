/** Shares of traced calls. The first one is the baseline. */
export const SHARES = [0, 0.01, 1] as const;
export type Share = (typeof SHARES)[number];

/** The share recommended to operators, and the upper bound of its CPU ratio per call. */
export const AIM = { share: 0.01, ratioMax: 1.1 } as const satisfies { share: Share; ratioMax: number };

export function formatPercent(share: Share): string {
  return `${share * 100} %`;
}
