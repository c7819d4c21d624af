import { Command, Option } from 'commander';
import { packageVersion } from '../package-info.ts';

/** The command line `agent-engine`. Commands load what they need when they run, so that help is quick. */
export function createProgram(): Command {
  const program = new Command('agent-engine')
    .description('The server in front of your AI agent: runs a LangGraph.js agent and streams AG-UI.')
    .version(packageVersion)
    .showHelpAfterError('(see agent-engine --help)')
    .addHelpText(
      'after',
      `
Examples:
  agent-engine serve agent.ts            serve one agent file; its graph is found by itself
  agent-engine serve agent.ts:support    serve the export "support" of that file
  agent-engine serve                     serve what ./config.yaml describes
  agent-engine init my-agent             make a new folder with an agent, and serve it

Settings are environment variables (SERVICE_*), also read from ./.env; .env.example lists them.
Talk to the agent:
  curl -N http://127.0.0.1:8000/agent/run -H 'Content-Type: application/json' \\
    -d '{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"Hello"}]}'`,
    );

  program
    .command('serve')
    .description('start the server')
    .argument('[agent]', 'agent file to serve, as path or path:export (default: what the configuration file names)')
    .option('-c, --config <file>', 'configuration file (default: SERVICE_CONFIG_PATH, else ./config.yaml)')
    .option('-p, --port <port>', 'port (default: SERVICE_PORT, else the configuration file, else 8000)')
    .option('--host <address>', 'address to listen on (default: SERVICE_HOST, else 127.0.0.1)')
    .option('-w, --watch', "reload when the agent's files change")
    .action(async (agent: string | undefined, options) => {
      const { serve } = await import('./serve.ts');
      await serve({ agent, ...options });
    });

  const agent = program.command('agent').description('run an agent without a database of the server');
  agent
    .command('serve')
    .description('start the engine only: no database, no sessions unless the agent has a checkpointer')
    .addOption(
      new Option('--source <source>', 'where the configuration comes from')
        .choices(['file', 'manager'])
        .default('file'),
    )
    .option('--path <file>', 'configuration file, with --source file (default: SERVICE_CONFIG_PATH)')
    .option('-p, --port <port>', 'port')
    .option('--host <address>', 'address to listen on')
    .action(async ({ source, path, ...options }) => {
      const { serve } = await import('./serve.ts');
      await serve({ ...options, engineOnly: { source, path } });
    });
  return program;
}
