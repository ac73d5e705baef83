import { TextInput } from '@mantine/core';

interface EmailInputProps {
  readonly value: string;
  readonly error?: string | undefined;
  readonly onChange: (value: string) => void;
}

/** The address under which somebody signs in. */
export function EmailInput({ value, error, onChange }: EmailInputProps) {
  return (
    <TextInput
      label="E-mail address"
      name="email"
      type="email"
      autoComplete="username"
      required
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
