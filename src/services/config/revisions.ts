import { z } from 'zod';
import { problem } from '../../problems.ts';
import type { ConfigRow, ConfigStore } from '../../store/config-store.ts';
import { type ConfigState, EMPTY_STATE, RESOURCES } from '../resources/index.ts';
import { compareStates, type Difference } from './compare.ts';
import type { Reconfigure, WriteNote } from './reconfigure.ts';
import { type StateCodec, shown } from './state-codec.ts';

/** A write of the configuration in the list. */
export const RevisionHead = z
  .object({
    number: z.int(),
    createdAt: z.iso.datetime(),
    actor: z.string(),
    resource: z.string().describe('What was written, or `configuration` for the whole.'),
    action: z.string().describe('`create`, `update`, `delete`, `import`, `restore` or `seed`.'),
  })
  .meta({
    id: 'RevisionHead',
    examples: [
      {
        number: 3,
        createdAt: '2026-01-01T00:00:00.000Z',
        actor: 'anonymous',
        resource: 'guardrails',
        action: 'create',
      },
    ],
  });
export type RevisionHead = z.infer<typeof RevisionHead>;

/** One difference between two revisions. */
export const RevisionDifference = z
  .object({
    type: z.enum(['create', 'change', 'remove']),
    path: z.array(z.union([z.string(), z.int()])),
    before: z.unknown().optional(),
    after: z.unknown().optional(),
  })
  .meta({
    id: 'RevisionDifference',
    examples: [{ type: 'change', path: ['guardrails', 'no-secrets', 'enabled'], before: true, after: false }],
  });

/** A write of the configuration with what it changed and the whole configuration after it. Secrets are masked. */
export const Revision = RevisionHead.extend({
  diff: z.array(RevisionDifference),
  config: z.record(z.string(), z.unknown()),
}).meta({
  id: 'Revision',
  examples: [
    {
      number: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      actor: 'anonymous',
      resource: 'memory',
      action: 'update',
      diff: [{ type: 'create', path: ['memory', 'memory'], after: { agentFramework: 'LANGGRAPH' } }],
      config: { memory: [{ agentFramework: 'LANGGRAPH', memory: { type: 'memory' } }] },
    },
  ],
});

/** The configuration's history. Unknown numbers are `not_found`. */
export interface Revisions {
  /** Newest first, those with numbers below `before`. */
  list(limit: number, before: number | undefined): Promise<RevisionHead[]>;
  get(number: number): Promise<z.infer<typeof Revision>>;
  /** What differs from revision `against`, by default the one before. */
  diff(number: number, against: number | undefined): Promise<Difference[]>;
  /** Puts a revision's configuration back into service, as a new revision. */
  restore(number: number, note: WriteNote): ReturnType<Reconfigure['write']>;
}

/** Makes the history over its store. */
export function createRevisions(store: ConfigStore, codec: StateCodec, reconfigure: Reconfigure): Revisions {
  const find = async (number: number) => {
    const row = await store.revision(number);
    if (row === undefined) throw problem('not_found', { message: `There is no revision ${number}.` });
    return row;
  };
  const decode = (config: string): ConfigState => codec.decode(JSON.parse(config) as ConfigRow[]);
  const stateOf = async (number: number): Promise<ConfigState> =>
    number === 0 ? EMPTY_STATE : decode((await find(number)).config);
  const diff = async (number: number, against = number - 1): Promise<Difference[]> =>
    compareStates(await stateOf(against), await stateOf(number));
  return {
    async list(limit, before) {
      const rows = await store.revisions(limit, before);
      return rows.map((row) => ({ ...row, createdAt: new Date(row.createdAt).toISOString() }));
    },
    async get(number) {
      const { config, createdAt, ...head } = await find(number);
      const state = decode(config);
      const records = RESOURCES.map(({ name }) => [
        name,
        state[name].map(({ id, slug, data }) => ({ id, slug, ...shown(name, data) })),
      ]);
      return {
        ...head,
        createdAt: new Date(createdAt).toISOString(),
        diff: compareStates(await stateOf(number - 1), state),
        config: Object.fromEntries(records) as Record<string, unknown>,
      };
    },
    diff,
    async restore(number, note) {
      const state = await stateOf(number);
      return reconfigure.write(note, () => ({ next: state, result: undefined }));
    },
  };
}
