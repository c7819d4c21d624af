/**
 * What browsers and programs import to talk to a server of ours and survive a lost connection:
 * `import { ResumableHttpAgent } from 'agent-engine-server/client'`.
 *
 * @module
 */
export { ConnectionLostError, HttpError, ProtocolError } from './client/errors.ts';
export type { ReconnectOptions } from './client/reconnect.ts';
export { ResumableHttpAgent, type ResumableHttpAgentConfig } from './client/resumable-http-agent.ts';
export type { RunRecord, RunStatus } from './client/run-record.ts';
