#!/usr/bin/env node
import { checkNode } from './cli/node-version.ts';
import { holdYoungGeneration } from './cli/young-generation.ts';

const node = checkNode(process.versions.node);
if (node !== undefined) console.error(node.message);
if (node?.fatal === true) process.exit(1);

holdYoungGeneration();
// Imported late: on a Node that is too old these would fail with an error nobody understands.
const { createProgram } = await import('./cli/program.ts');
const { EnvProblem } = await import('./env.ts');
const { Fault } = await import('./cli/fault.ts');

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof EnvProblem || error instanceof Fault) {
    for (const line of error.lines) console.error(line);
  } else {
    console.error(error);
  }
  process.exit(1);
}
