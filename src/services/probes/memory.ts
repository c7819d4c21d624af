import { ConnectionFailure } from '../../outbound/failure.ts';
import { MemoryPayload } from '../resources/memory.ts';
import type { ConnectionCheck } from './connection-check.ts';
import { checkPostgres } from './postgres.ts';
import { runProbe, type Variables } from './run-probe.ts';
import { checkSqlite } from './sqlite.ts';

/**
 * Whether conversations can be kept where a `memory` payload says.
 *
 * @param root folder relative paths count from.
 */
export function probeMemory(
  payload: unknown,
  { root, variables }: { root: string; variables: Variables },
): Promise<ConnectionCheck> {
  return runProbe(payload, variables, {
    schema: MemoryPayload,
    async run(memory, signal) {
      switch (memory.type) {
        case 'memory':
        case 'in_memory':
          return { backend: 'in-memory' };
        case 'vertex_ai':
          return {
            backend: memory.type,
            projectId: given('project_id', memory.project_id),
            location: given('location', memory.location),
            note: 'Only the settings were checked; no connection was made.',
          };
        default:
          if (/^postgres(?:ql)?:\/\//.test(memory.db_url)) {
            await checkPostgres(memory.db_url, signal);
            return { backend: memory.type };
          }
          if (!memory.db_url.startsWith('sqlite:///'))
            throw new ConnectionFailure('db_url: must start with sqlite:///');
          await checkSqlite(memory.db_url, root, signal);
          return { backend: memory.type };
      }
    },
  });
}

function given(name: string, value: string): string {
  if (value.trim() === '') throw new ConnectionFailure(`${name}: is not set`);
  return value;
}
