import { NumberInput } from '@mantine/core';

/** The API's upper bound, in dollars. */
const CAP_USD_MAX = 9_999_999;
const NANO_DIGITS = 9;

interface CapInputProps {
  readonly description: string;
  readonly placeholder?: string;
  readonly value: string | number;
  readonly error: string | undefined;
  readonly onChange: (value: string | number) => void;
}

/** The monthly cap of a key or member; blank: none. */
export function CapInput(props: CapInputProps) {
  return (
    <NumberInput
      label="Monthly spend cap in USD (optional)"
      prefix="$"
      min={0}
      max={CAP_USD_MAX}
      decimalScale={NANO_DIGITS}
      allowNegative={false}
      thousandSeparator=","
      hideControls
      {...props}
    />
  );
}
