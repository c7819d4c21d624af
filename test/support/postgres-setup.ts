import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findPostgres, stopCluster } from './postgres-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder for the PostgreSQL clusters of this run of the tests. */
    postgresFolder: string;
  }
}

/** Gives the run a folder for its PostgreSQL. The first test that wants one starts it there; the run's end stops it. */
export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'agent-engine-postgres-'));
  project.provide('postgresFolder', folder);
  return () => {
    const bin = findPostgres();
    for (const name of readdirSync(folder)) {
      if (bin !== undefined && name.startsWith('cluster-')) stopCluster(bin, join(folder, name));
    }
    rmSync(folder, { recursive: true, force: true });
  };
}
