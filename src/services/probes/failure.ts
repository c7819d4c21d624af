export { ConnectionFailure as ProbeFailure, tellFailure, toLine } from '../../outbound/failure.ts';
