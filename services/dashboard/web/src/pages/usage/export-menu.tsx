import { Button, Modal, Select } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { download } from '../../api/download.js';
import type { Progress } from '../../api/download.js';
import { countOf, formatBytes } from '../../format/number.js';
import { RANGES, computeSpan } from '../../format/range.js';
import type { RangeName } from '../../format/range.js';
import { useCurrent } from '../../layout/current-account.js';
import { Icon } from '../../ui/icons.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';

type What = 'usage-records' | 'ledger-entries';
const WHATS = [
  { value: 'usage-records', label: 'Usage records' },
  { value: 'ledger-entries', label: 'Ledger entries' },
];
const FORMATS = [
  { value: 'csv', label: 'CSV, for spreadsheets' },
  { value: 'jsonl', label: 'JSON lines, for programs' },
];

/** Exports records as a file and shows progress; for owners and admins. */
export function ExportMenu({
  range,
  what = 'usage-records',
}: {
  readonly range?: RangeName | '';
  readonly what?: What;
}) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={() => setOpened(true)}>
        Export
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title="Export" size={440}>
        {opened && <ExportForm range={range ?? ''} what={what} onClose={() => setOpened(false)} />}
      </Modal>
    </>
  );
}

interface ExportFormProps {
  readonly range: RangeName | '';
  readonly what: What;
  readonly onClose: () => void;
}

function ExportForm(props: ExportFormProps) {
  const { account } = useCurrent();
  const [what, setWhat] = useState<string>(props.what);
  const [range, setRange] = useState<string>(props.range);
  const [format, setFormat] = useState('csv');
  const [progress, setProgress] = useState<Progress>({ bytes: 0, lines: 0 });
  const stop = useRef<AbortController | null>(null);
  const run = useMutation({
    mutationFn: async () => {
      const controller = new AbortController();
      stop.current = controller;
      const span = range === '' ? null : computeSpan(range as RangeName, Date.now());
      const query = { format, ...(span === null ? {} : { from: span.from, to: span.to }) };
      const day = new Date().toISOString().slice(0, 10);
      const path = `/accounts/${account.id}/export/${what}`;
      return download(path, query, `${what}-${day}.${format}`, controller.signal, setProgress);
    },
  });
  const records = Math.max(0, progress.lines - (format === 'csv' ? 1 : 0));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        run.mutate();
      }}
    >
      <div className="stack">
        <Select
          label="Records"
          data={WHATS}
          value={what}
          allowDeselect={false}
          onChange={(value) => setWhat(value ?? what)}
        />
        <Select
          label="Time"
          data={[
            { value: '', label: 'Everything' },
            ...RANGES.map(({ value, label }) => ({ value, label: `Last ${label}` })),
          ]}
          value={range}
          allowDeselect={false}
          onChange={(value) => setRange(value ?? '')}
        />
        <Select
          label="Format"
          data={FORMATS}
          value={format}
          allowDeselect={false}
          onChange={(value) => setFormat(value ?? 'csv')}
        />
        <div role="status" className="small">
          {run.isPending && (
            <span className="num">
              {countOf(records, 'record')} · {formatBytes(progress.bytes)}
            </span>
          )}
          {run.isSuccess && (
            <Notice tone="good" title="Saved">
              {countOf(records, 'record')}, {formatBytes(progress.bytes)}
            </Notice>
          )}
        </div>
        {run.isError && !isStopped(run.error) && <ErrorNotice error={run.error} />}
      </div>
      <div className="modal-actions">
        {run.isPending ? (
          <Button variant="default" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        ) : (
          <Button variant="default" onClick={props.onClose}>
            Close
          </Button>
        )}
        <Button type="submit" loading={run.isPending}>
          Export
        </Button>
      </div>
    </form>
  );
}

function isStopped(fault: unknown): boolean {
  return fault instanceof DOMException && fault.name === 'AbortError';
}
