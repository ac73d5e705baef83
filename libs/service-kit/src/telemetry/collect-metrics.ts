import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram as HistogramValue,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { Histogram } from './metric-cells.js';
import { registry, type GaugeReading, type RegisteredGauge } from './metrics.js';

/** Series that one gauge may report. Further ones are left out. */
const GAUGE_SERIES_MAX = 200;

/**
 * Returns all registered metrics in OpenTelemetry's form, cumulative since `startTime`. A gauge
 * that throws has no value.
 */
export function collectMetrics(startTime: HrTime, endTime: HrTime): MetricData[] {
  const point = <T>(attributes: Attributes, value: T): DataPoint<T> => ({ startTime, endTime, attributes, value });
  const counters = [...registry.counters].map(([name, { help, family }]): MetricData => ({
    ...head(name, help),
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints: [...family.cells()].map(({ labels, cell }) => point(labels, cell.value)),
  }));
  const gauges = [...registry.gauges].map(([name, registered]): MetricData => ({
    ...head(name, registered.help),
    dataPointType: DataPointType.GAUGE,
    dataPoints: readGauge(registered).map(([labels, value]) => point(labels, value)),
  }));
  const histograms = [...registry.histograms].map(([name, { help, family }]): MetricData => ({
    ...head(name, help),
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: [...family.cells()].map(({ labels, cell }) => point(labels, histogramValue(cell))),
  }));
  return [...counters, ...gauges, ...histograms];
}

function head(name: string, help: string) {
  const descriptor = { name, description: help, unit: '', valueType: ValueType.DOUBLE };
  return { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
}

function readGauge({ read, label }: RegisteredGauge): [Attributes, number][] {
  let reading: GaugeReading;
  try {
    reading = read();
  } catch {
    return [];
  }
  if (typeof reading === 'number') return [[{}, reading]];
  const points: [Attributes, number][] = [];
  for (const [labelValue, value] of reading) {
    if (points.length >= GAUGE_SERIES_MAX) break;
    points.push([{ [label]: labelValue }, value]);
  }
  return points;
}

function histogramValue({ bounds, counts, count, sum }: Histogram): HistogramValue {
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, count, sum };
}
