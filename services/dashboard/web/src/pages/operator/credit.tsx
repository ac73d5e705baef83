import { Modal, Select, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccountView } from '@gateway/contracts/pages';
import { request } from '../../api/request.js';
import { formatUsd } from '../../format/usd.js';
import { DialogForm } from '../../ui/form.js';
import { fieldError } from '../../ui/notice.js';
import { useToast } from '../../ui/toasts.js';

interface CreditProps {
  readonly account: AccountView;
  readonly opened: boolean;
  readonly onClose: () => void;
}

const KINDS = [
  { value: 'credit', label: 'Credit' },
  { value: 'refund', label: 'Refund' },
  { value: 'chargeback', label: 'Chargeback' },
  { value: 'adjustment', label: 'Adjustment' },
];
const REFERENCE_BYTES = 8;

/** Adds an entry to an account's wallet. A repeated reference changes nothing. */
export function Credit({ account, opened, onClose }: CreditProps) {
  return (
    <Modal opened={opened} onClose={onClose} title={`Add funds to ${account.name}`} size={460}>
      {opened && <Form account={account} onClose={onClose} />}
    </Modal>
  );
}

function Form({ account, onClose }: Omit<CreditProps, 'opened'>) {
  const client = useQueryClient();
  const toast = useToast();
  const [entry, setEntry] = useState(() => ({ amountUsd: '', kind: 'credit', reason: '', reference: newReference() }));
  const set = (name: keyof typeof entry) => (value: string) => setEntry((before) => ({ ...before, [name]: value }));
  const add = useMutation({
    mutationFn: () =>
      request<{ balanceUsd: string; repeated: boolean }>(`/operator/v1/accounts/${account.id}/wallet/entries`, {
        method: 'POST',
        body: { ...entry, amountUsd: entry.amountUsd.trim() },
      }),
    async onSuccess({ balanceUsd, repeated }) {
      toast(
        repeated
          ? 'This reference was used before, so nothing was added'
          : `Added. The balance is now ${formatUsd(balanceUsd)}`,
      );
      onClose();
      await client.invalidateQueries({ queryKey: ['operator', 'account', account.id] });
    },
  });
  return (
    <DialogForm change={add} fields={Object.keys(entry)} submit="Add entry" onClose={onClose}>
      <TextInput
        label="Amount in USD"
        description="A negative amount is taken out"
        placeholder="25.00"
        inputMode="decimal"
        required
        data-autofocus
        value={entry.amountUsd}
        onChange={(event) => set('amountUsd')(event.currentTarget.value)}
        error={fieldError(add.error, 'amountUsd')}
      />
      <Select
        label="Kind"
        data={KINDS}
        value={entry.kind}
        allowDeselect={false}
        onChange={(value) => set('kind')(value ?? 'credit')}
      />
      <TextInput
        label="Reason"
        required
        maxLength={200}
        placeholder="Invoice 2026-118"
        value={entry.reason}
        onChange={(event) => set('reason')(event.currentTarget.value)}
        error={fieldError(add.error, 'reason')}
      />
      <TextInput
        label="Reference"
        description="A unique invoice or payment number. A repeated reference is booked once."
        required
        maxLength={200}
        value={entry.reference}
        onChange={(event) => set('reference')(event.currentTarget.value)}
        error={fieldError(add.error, 'reference')}
      />
    </DialogForm>
  );
}

function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(REFERENCE_BYTES));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
