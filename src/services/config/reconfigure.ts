import type { EnginePorts } from '../../engine/build.ts';
import type { EngineHolder } from '../../engine/holder.ts';
import { Mutex } from '../../engine/mutex.ts';
import { type Problem, problem } from '../../problems.ts';
import type { ConfigChange, ConfigStore, RuntimeRow } from '../../store/config-store.ts';
import { auditEntry } from '../access/audit.ts';
import type { AuditMark } from '../access/caller.ts';
import { type ConfigState, RESOURCES } from '../resources/index.ts';
import type { Change } from './change.ts';
import { reasonOf } from './faults.ts';
import { createPreparation, type Prepared, type SignOnRules } from './prepare.ts';
import type { StateCodec } from './state-codec.ts';

/** Who writes what, for the histories. */
export interface WriteNote {
  /** Who, and by which request; the audit log's entry is written together with the change. */
  by: AuditMark;
  /** A resource, or what else was done: `import`, `restore`. */
  resource: string;
  action: string;
  /** Number of the revision the writer has seen; undefined to write whatever there is. */
  ifMatch?: number | undefined;
}

/** How a write went live. */
export interface ReloadReport {
  status: 'reloaded';
  message: string;
  error: null;
}

/** A configuration with the number of its revision. */
export interface Snapshot {
  state: ConfigState;
  revision: number;
}

/** The one way the stored configuration changes. */
export interface Reconfigure {
  /** Why there is no agent although there should be; undefined when there is no such fault. */
  readonly bootError: string | undefined;
  /** The stored configuration. */
  read(): Promise<Snapshot>;
  /**
   * Changes the configuration and puts it into service: all of it or nothing. One at a time.
   *
   * @throws what the change throws; Problem `precondition_failed`, `validation_failed` for what the configuration says,
   *   `reload_failed` for what failed on start, `internal_error` when it cannot be stored.
   */
  write<Result>(note: WriteNote, change: Change<Result>): Promise<Snapshot & { result: Result; reload: ReloadReport }>;
  /** Does as `write` up to the point where something would be stored. */
  tryOut<Result>(change: Change<Result>): Promise<Result>;
  /** Stores a change without putting it into service, for the time before {@link Reconfigure.start}. */
  store<Result>(note: WriteNote, change: Change<Result>): Promise<Result>;
  /** Generation of the engine in service; 0 for none. */
  readonly generation: number;
  /** Builds the stored configuration anew, with the agent's code as it is now. @returns the engine's generation. */
  rebuild(): Promise<{ generation: number }>;
  /** Starts the stored configuration at boot; a fault is kept as `bootError`. */
  start(): Promise<void>;
  /** How the last reload went. */
  status(): Promise<RuntimeRow | undefined>;
}

/** Makes the write pipeline. */
export function createReconfigure(options: {
  store: ConfigStore;
  codec: StateCodec;
  holder: EngineHolder;
  ports: EnginePorts;
  signOn: SignOnRules;
  /** Environment that references in the configuration are resolved from. */
  variables: Readonly<Record<string, string | undefined>>;
  log: Record<'info' | 'warn' | 'error', (details: object, message: string) => void>;
}): Reconfigure {
  const { store, codec, holder, ports, signOn, variables, log } = options;
  const mutex = new Mutex();
  let bootError: string | undefined;

  const load = async (): Promise<Snapshot> => {
    const [rows, revision] = await Promise.all([store.rows(), store.newest()]);
    try {
      return { state: codec.decode(rows), revision };
    } catch (error) {
      throw problem('internal_error', { message: reasonOf(error), cause: error });
    }
  };

  const { assembled, build, prepare } = createPreparation({ ports, signOn, variables });

  /** Remembers how a reload went. That it cannot be remembered changes nothing about it. */
  const note = async (row: Omit<RuntimeRow, 'at'>): Promise<void> => {
    await store
      .setRuntime({ ...row, at: Date.now() })
      .catch((err: unknown) => log.error({ err }, 'the outcome of a reload could not be stored'));
  };

  /** @param configured whether what is stored has an agent, which should then be running. */
  const failed = async (error: unknown, configured: boolean): Promise<never> => {
    const message = error instanceof Error ? error.message : 'unknown error';
    log.error({ err: error }, 'a change of the configuration was refused; the previous agent keeps serving');
    if (holder.current === undefined && configured) bootError = message;
    await note({
      status: 'reload_failed',
      message: 'The last change was refused; nothing was changed.',
      error: message,
    });
    throw error;
  };

  const goLive = ({ engine, sso }: Prepared): number => {
    // In the same turn as the engine: no request meets the one without the other.
    signOn.apply(sso);
    if (engine === undefined) holder.clear();
    else holder.swap(engine);
    bootError = undefined;
    const generation = holder.current?.generation ?? 0;
    if (engine !== undefined) log.info({ agent: engine.config.agent.config.name, generation }, 'agent is live');
    return generation;
  };

  const save = async (from: Snapshot, next: ConfigState, by: WriteNote, now: number): Promise<void> => {
    const { resource, action } = by;
    const config = JSON.stringify(codec.encodeAll(next));
    const revision = { number: from.revision + 1, createdAt: now, actor: by.by.actor, resource, action, config };
    const audit = auditEntry(by.by, now, 'ok', `revision ${revision.number}`);
    await store.write({ ...diff(from.state, next), revision, audit });
    by.by.recorded = true;
  };

  return {
    get bootError() {
      return bootError;
    },
    get generation() {
      return holder.current?.generation ?? 0;
    },
    read: load,
    store: (by, change) =>
      mutex.runWith(async () => {
        const snapshot = await load();
        const now = Date.now();
        const { next, result } = change(snapshot.state, now);
        if (next !== snapshot.state) await save(snapshot, next, by, now);
        return result;
      }),
    tryOut: (change) =>
      mutex.runWith(async () => {
        const { state } = await load();
        const { next, result } = change(state, Date.now());
        await (await prepare(next)).engine?.close();
        return result;
      }),
    write: (by, change) =>
      mutex.runWith(async () => {
        const { state, revision } = await load();
        if (by.ifMatch !== undefined && by.ifMatch !== revision) throw problem('precondition_failed');
        const now = Date.now();
        const { next, result } = change(state, now);
        if (next === state) return { state, revision, result, reload: report('There was nothing to change.') };
        const prepared = await prepare(next).catch((error: unknown) => failed(error, state.agent.length > 0));
        const { engine } = prepared;
        try {
          await save({ state, revision }, next, by, now);
        } catch (error) {
          await engine?.close();
          throw notStored(error);
        }
        const generation = goLive(prepared);
        const message =
          engine === undefined
            ? 'The change is stored. No agent is registered yet.'
            : `The change is stored and live (generation ${generation}).`;
        await note({ status: 'reloaded', message, error: null });
        return { state: next, revision: revision + 1, result, reload: report(message) };
      }),
    rebuild: () =>
      mutex.runWith(async () => {
        const { state } = await load();
        if (state.agent.length === 0) {
          const msg = 'No agent is configured: there is no configuration to load.';
          throw problem('reload_failed', { message: msg, details: [{ loc: ['body'], msg, type: 'reload_failed' }] });
        }
        const generation = goLive(await prepare(state).catch((error: unknown) => failed(error, true)));
        await note({
          status: 'reloaded',
          message: `The agent was built anew (generation ${generation}).`,
          error: null,
        });
        return { generation };
      }),
    start: () =>
      mutex.runWith(async () => {
        try {
          const { state } = await load();
          const assembly = assembled(state);
          // Also when the agent cannot be started: who may call does not depend on it.
          signOn.apply(assembly.sso);
          if (state.agent.length === 0) log.warn({}, 'no agent is configured yet');
          else goLive({ engine: await build(assembly), sso: assembly.sso });
        } catch (error) {
          bootError = reasonOf(error);
          log.error({ err: error }, `the agent cannot be started: ${bootError}`);
        }
      }),
    status: () => store.runtime(),
  };

  function diff(state: ConfigState, next: ConfigState): Pick<ConfigChange, 'put' | 'remove'> {
    const put: ConfigChange['put'] = [];
    const remove: ConfigChange['remove'] = [];
    for (const { name } of RESOURCES) {
      const before = new Map(state[name].map((record) => [record.id, record]));
      const after = new Set(next[name].map(({ id }) => id));
      for (const record of next[name]) if (before.get(record.id) !== record) put.push(codec.encode(name, record));
      for (const id of before.keys()) if (!after.has(id)) remove.push({ resource: name, id });
    }
    return { put, remove };
  }
}

function report(message: string): ReloadReport {
  return { status: 'reloaded', message, error: null };
}

function notStored(cause: unknown): Problem {
  return problem('internal_error', {
    message: 'The change could not be stored: the disk may be full or the database read-only. Nothing was changed.',
    cause,
  });
}
