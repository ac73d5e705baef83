import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorNotice, isFormError } from './notice.js';

interface FormProps {
  /** The mutation that the form runs. */
  readonly change: { readonly error: unknown; readonly isPending: boolean; readonly mutate: (nothing: void) => void };
  /** Fields that show their own errors. */
  readonly fields?: readonly string[];
  /** Label of the button. */
  readonly submit: string;
  readonly children: ReactNode;
  /** Below the button. */
  readonly below?: ReactNode;
}

/** A form on a page. An error that names none of the fields is shown above them. */
export function Form({ change, fields = [], submit, children, below }: FormProps) {
  return (
    <form className="stack" onSubmit={submitTo(change)}>
      {isFormError(change.error, fields) && <ErrorNotice error={change.error} />}
      {children}
      <Button type="submit" fullWidth loading={change.isPending}>
        {submit}
      </Button>
      {below}
    </form>
  );
}

interface DialogFormProps extends FormProps {
  readonly isLoose?: boolean;
  readonly isDisabled?: boolean;
  readonly onClose: () => void;
}

/** A form in a dialog, with a button that closes it. */
export function DialogForm({ change, fields = [], submit, children, ...props }: DialogFormProps) {
  return (
    <form onSubmit={submitTo(change)}>
      <div className={props.isLoose === true ? 'stack loose' : 'stack'}>
        {isFormError(change.error, fields) && <ErrorNotice error={change.error} />}
        {children}
      </div>
      <div className="modal-actions">
        <Button variant="default" onClick={props.onClose} disabled={change.isPending}>
          Cancel
        </Button>
        <Button type="submit" loading={change.isPending} disabled={props.isDisabled === true}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

function submitTo({ mutate }: FormProps['change']): (event: { preventDefault(): void }) => void {
  return (event) => {
    event.preventDefault();
    mutate();
  };
}
