/**
 * Where a run stands. `awaiting_input`: it ended with a question. `failed`: it ended with an error. `interrupted`: the
 * server stopped in the middle of it.
 */
export type RunStatus = 'queued' | 'running' | 'finished' | 'awaiting_input' | 'cancelled' | 'failed' | 'interrupted';

/** What the server tells about a run. Times are ISO 8601. */
export interface RunRecord {
  runId: string;
  threadId: string;
  status: RunStatus;
  createdAt: string;
  /** Null while it waits. */
  startedAt: string | null;
  /** Null while it is not over. */
  finishedAt: string | null;
  /** Code of the RUN_ERROR it ended with. */
  errorCode: string | null;
  /** Which agent ran it: counts up with each reload since the server started. */
  generation: number | null;
}
