import { readFileSync } from 'node:fs';

/** Parses the Dockerfile into steps, without comments and with continued lines joined. */
export function readRecipe() {
  const text = readFileSync(new URL('./Dockerfile', import.meta.url), 'utf8').replace(/\\\n/g, ' ');
  const steps = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, instruction = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { instruction, text: rest };
    });
  /** @type {{ base: string | undefined, steps: typeof steps }[]} */
  const stages = [];
  for (const step of steps) {
    if (step.instruction === 'FROM') stages.push({ base: step.text.split(' ')[0], steps: [] });
    else stages.at(-1)?.steps.push(step);
  }
  const before = steps.find(({ instruction }) => instruction === 'ARG');
  const entryPoint = stages.at(-1)?.steps.find(({ instruction }) => instruction === 'ENTRYPOINT')?.text ?? '';
  return { baseDefault: before?.text.replace('NODE_IMAGE=', '') ?? '', stages, entryPoint };
}
