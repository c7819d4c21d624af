/**
 * The server as it is built, complete: its own database, the index of threads, the configuration file, the log.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { serveUnderControl } from './control.mjs';

const [, , folder, dist] = process.argv;
const { readEnv } = await import(`${dist}/env.js`);
const { createServices } = await import(`${dist}/services.js`);
const { buildApp } = await import(`${dist}/app.js`);

const graphFile = fileURLToPath(new URL('../graph.mjs', import.meta.url));
const config = {
  agent: {
    type: 'LANGGRAPH',
    config: {
      name: 'bench',
      graph_definition: `${graphFile}:graph`,
      checkpointer: { type: 'sqlite', db_url: 'sqlite:///conversations.db' },
    },
  },
};
// JSON is YAML.
writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));

// Nothing of the caller's environment: the numbers are those of the defaults.
const { env } = readEnv({});
// As `agent-engine serve` logs where nobody looks on.
const log = pino({ level: env.SERVICE_LOG_LEVEL }, pino.destination({ sync: false }));
const services = await createServices({ env, log, root: folder, variables: {} });
const app = await buildApp(services);
await services.configurator.boot();
if (services.configurator.bootError !== undefined) throw new Error(services.configurator.bootError);

await serveUnderControl(app);
