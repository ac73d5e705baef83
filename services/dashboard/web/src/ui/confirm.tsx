import { Button, Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from './notice.js';

interface ConfirmProps {
  readonly opened: boolean;
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly children: ReactNode;
  readonly onClose: () => void;
  /** The dialogue stays open with the error if this rejects. */
  readonly onConfirm: () => Promise<void>;
}

/** Asks for confirmation of an action that cannot be undone. */
export function Confirm({ opened, title, action, danger = false, children, onClose, onConfirm }: ConfirmProps) {
  const doing = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  const close = () => {
    if (doing.isPending) return;
    doing.reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title} size={480}>
      <div className="stack">
        {children}
        {doing.isError && <ErrorNotice error={doing.error} />}
      </div>
      <div className="modal-actions">
        <Button variant="default" onClick={close} disabled={doing.isPending} data-autofocus>
          Cancel
        </Button>
        <Button variant={danger ? 'danger' : 'filled'} loading={doing.isPending} onClick={() => doing.mutate()}>
          {action}
        </Button>
      </div>
    </Modal>
  );
}
