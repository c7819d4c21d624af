#!/usr/bin/env node
import { createProgram } from './cli/program.ts';
import { EnvProblem } from './env.ts';

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof EnvProblem) {
    for (const line of error.lines) console.error(line);
  } else {
    console.error(error);
  }
  process.exit(1);
}
