import { z } from 'zod';
import { wholeNumber } from './fields.ts';

/** What can happen to a run on a thread that is busy. */
export const THREAD_POLICIES = ['reject', 'enqueue', 'interrupt', 'rollback'] as const;

export type ThreadPolicy = (typeof THREAD_POLICIES)[number];

/** Settings that bound what runs and requests may take. */
export const limitSettings = {
  SERVICE_DRAIN_TIMEOUT_SECONDS: wholeNumber(0, 3600, 'seconds')
    .default(30)
    .describe('Seconds that running streams may go on after a reload or at shutdown.'),
  SERVICE_RUN_TIMEOUT_SECONDS: wholeNumber(0, 86400, 'seconds')
    .default(600)
    .describe('Seconds that a run may take; 0 for no limit.'),
  SERVICE_ON_DISCONNECT: z
    .enum(['continue', 'cancel'], 'must be continue or cancel')
    .default('continue')
    .describe('What a run does when its last reader loses the connection: continue or cancel.'),
  SERVICE_THREAD_POLICY: z
    .enum(THREAD_POLICIES, `must be ${THREAD_POLICIES.slice(0, -1).join(', ')} or ${THREAD_POLICIES.at(-1)}`)
    .default('reject')
    .describe(
      'What happens to a run on a thread that is busy: reject it, enqueue it, interrupt the running one, or rollback, ' +
        'which also forgets what that one did. forwardedProps.onBusy of a request overrides it.',
    ),
  SERVICE_THREAD_QUEUE_MAX: wholeNumber(1, 10_000)
    .default(16)
    .describe('Runs that may wait on one thread; another gets THREAD_BUSY.'),
  SERVICE_MAX_CONCURRENT_RUNS: wholeNumber(0, 1_000_000)
    .default(1000)
    .describe('Runs that may be under way at once; 0 for no limit.'),
  SERVICE_MAX_QUEUED_RUNS: wholeNumber(0, 1_000_000)
    .default(1000)
    .describe('Runs that may wait for one of those places; another gets 429.'),
  SERVICE_RUN_LOG_MAX_BYTES: wholeNumber(1_024, 1_073_741_824, 'bytes')
    .default(4_194_304)
    .describe(
      'About how many bytes of its events a run keeps for readers that come back; older ones become a snapshot.',
    ),
  SERVICE_RUN_LOGS_TOTAL_BYTES: wholeNumber(0, 68_719_476_736, 'bytes')
    .default(67_108_864)
    .describe('About how many bytes the events of all finished runs may take; the oldest go first.'),
  SERVICE_RUN_RETENTION_SECONDS: wholeNumber(0, 86_400, 'seconds')
    .default(300)
    .describe('Seconds that the events of a finished run are kept.'),
  SERVICE_RUN_HISTORY_DAYS: wholeNumber(0, 36_500, 'days')
    .default(30)
    .describe('Days that the list of runs goes back; 0 keeps all.'),
  SERVICE_CHECKPOINT_KEEP: wholeNumber(0, 1_000_000)
    .default(100)
    .describe('Checkpoints of a thread that are kept, the newest; going back further is not possible. 0 keeps all.'),
  SERVICE_THREAD_TTL_DAYS: wholeNumber(0, 36_500, 'days')
    .default(0)
    .describe('Days without a run after which a thread is deleted, unless it waits for an answer; 0 for never.'),
  SERVICE_HEARTBEAT_SECONDS: wholeNumber(1, 3600, 'seconds')
    .default(15)
    .describe('Seconds of silence after which a stream sends a comment that keeps the connection open.'),
  SERVICE_STREAM_BUFFER_BYTES: wholeNumber(65_536, 1_073_741_824, 'bytes')
    .default(4_194_304)
    .describe('Unsent bytes after which a reader that does not read is cut off.'),
  SERVICE_TRACES_INPUT_VALUE_MAX_BYTES: wholeNumber(1_024, 16_777_216, 'bytes')
    .default(65_536)
    .describe('Bytes that an input, an output or another text on a span may have; longer ones are cut, and say so.'),
  SERVICE_REQUEST_TIMEOUT_SECONDS: wholeNumber(1, 3600, 'seconds')
    .default(30)
    .describe('Seconds that a request may take to arrive whole; its answer may take longer.'),
  SERVICE_RATE_LIMIT_ADDRESS: wholeNumber(0, 1_000_000)
    .optional()
    .describe(
      'Requests a minute from one address, on the runtime and on the admin surface; 0 for no limit. Unset: 600, or 0 on loopback.',
    ),
  SERVICE_RATE_LIMIT_USER: wholeNumber(0, 1_000_000)
    .optional()
    .describe(
      'Requests a minute of one user or key, on the runtime and on the admin surface; 0 for no limit. Unset: 300, or 0 on loopback.',
    ),
  SERVICE_MAX_BODY_BYTES: wholeNumber(1_024, 1_073_741_824, 'bytes')
    .default(10_485_760)
    .describe('Bytes that a request body may have.'),
};
