import type { Event } from '../engine/events.ts';

/** Sees every event of every run, errors included, before it is encoded. */
export type RunObserver = (event: Event, run: { threadId: string; runId: string }) => void | Promise<void>;

/** The observers registered on one app. They stay across reloads: they belong to the app, not to the agent. */
export interface Observers {
  /** Adds an observer; the returned function removes it. */
  add(observer: RunObserver): () => void;
  /** Calls the observers one after another. One that fails is logged and disturbs nobody; none is waited for. */
  notify(event: Event, run: { threadId: string; runId: string }): void;
}

/** Makes an empty list of observers. */
export function createObservers(log: { warn(details: object, message: string): void }): Observers {
  const observers = new Set<RunObserver>();
  const failed = (err: unknown): void => log.warn({ err }, 'a run observer failed');
  return {
    add(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    notify(event, run) {
      for (const observer of observers) {
        try {
          observer(event, run)?.catch(failed);
        } catch (error) {
          failed(error);
        }
      }
    },
  };
}
