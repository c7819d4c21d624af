import { Command, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../package-info.ts';

/** The command line `agent-engine`. Commands load what they need when they run, so that help is quick. */
export function createProgram(): Command {
  const program = new Command('agent-engine')
    .description('The server in front of your AI agent: runs a LangGraph.js agent and streams AG-UI.')
    .version(packageVersion)
    .showHelpAfterError('Help: agent-engine --help, or --help after a command')
    .addHelpText('after', HELP);

  program
    .command('serve')
    .description('start the server')
    .argument('[agent]', 'agent file to serve, as path or path:export (default: what the configuration file names)')
    .option('-c, --config <file>', 'configuration file (default: SERVICE_CONFIG_PATH, else ./config.yaml)')
    .addOption(portOption('default: SERVICE_PORT, else what the configuration file says, else 8000'))
    .option('--host <address>', 'address to listen on (default: SERVICE_HOST, else 127.0.0.1)')
    .option('-w, --watch', "reload when the agent's files change")
    .addHelpText('after', SERVE_HELP)
    .action(async (agent: string | undefined, options) => {
      const { serve } = await import('./serve.ts');
      await serve({ agent, ...options });
    });

  program
    .command('init')
    .description('make a project with an agent of its own, and serve it')
    .argument('[name]', 'folder to make (default: the current one)')
    .addOption(portOption('written into the project; default: 8000'))
    .option('--no-browser', 'do not open the browser')
    .addHelpText(
      'after',
      `
Writes agent.ts, config.yaml, .env.example, README.md, .gitignore and package.json, makes the database, and serves
the agent. Writes nothing if one of these files is there already.`,
    )
    .action(async (name: string | undefined, options) => {
      const { init } = await import('./init.ts');
      await init(name, options);
    });

  program
    .command('setup')
    .description('make or upgrade the database and check the configuration file, without serving')
    .option('-c, --config <file>', 'configuration file (default: SERVICE_CONFIG_PATH, else ./config.yaml)')
    .addHelpText('after', '\nFor deployments that want this done before the first start. `serve` does it as well.')
    .action(async (options) => {
      const { setup } = await import('./setup.ts');
      await setup(options);
    });

  program
    .command('hash-password')
    .description("print the bcrypt hash of an administrator's password")
    .option('--password <password>', 'the password; other users of this machine can see it in the list of processes')
    .addHelpText(
      'after',
      `
Without --password it asks twice and shows nothing, or reads one line from a pipe:
  agent-engine hash-password < password.txt`,
    )
    .action(async ({ password }: { password?: string }) => {
      const { hashPassword } = await import('./hash-password.ts');
      console.log(await hashPassword(password));
    });

  program
    .command('reset-password')
    .description("set the administrator's password anew and end every login, for when it was forgotten")
    .option('--password <password>', 'the password; other users of this machine can see it in the list of processes')
    .addHelpText(
      'after',
      '\nWrites to the database of the working directory (DATABASE_URL), also while the server runs.',
    )
    .action(async ({ password }: { password?: string }) => {
      const { resetPassword } = await import('./reset-password.ts');
      console.log(await resetPassword(password));
    });

  program
    .command('agent')
    .description('run an agent without the rest of the server')
    .command('serve')
    .description('start the engine only: no database, and sessions only if the configuration names a checkpointer')
    .addOption(
      new Option('--source <source>', 'where the configuration comes from')
        .choices(['file', 'manager'])
        .default('file'),
    )
    .option('--path <file>', 'configuration file, for --source file (default: SERVICE_CONFIG_PATH, else ./config.yaml)')
    .addOption(portOption('default: SERVICE_PORT, else what the configuration says, else 8000'))
    .option('--host <address>', 'address to listen on (default: SERVICE_HOST, else 127.0.0.1)')
    .addHelpText(
      'after',
      `
--source manager fetches the configuration from SERVICE_MANAGER_HOST with the key in SERVICE_AGENT_API_KEY.`,
    )
    .action(async ({ source, path, ...options }) => {
      const { serve } = await import('./serve.ts');
      await serve({ ...options, engineOnly: { source, path } });
    });
  return program;
}

const HELP = `
Examples:
  agent-engine init my-agent             make a new folder with an agent, and serve it
  agent-engine serve agent.ts            serve one agent file; its graph is found by itself
  agent-engine serve agent.ts:support    serve the export "support" of that file
  agent-engine serve                     serve what ./config.yaml describes

Settings are environment variables (SERVICE_*), also read from ./.env; .env.example lists them.
Talk to the agent:
  curl -N http://127.0.0.1:8000/agent/run -H 'Content-Type: application/json' \\
    -d '{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"Hello"}]}'`;

const SERVE_HELP = `
Examples:
  agent-engine serve agent.ts --watch    an agent under development: saved changes are live at once
  agent-engine serve -c prod.yaml -p 80  another configuration, another port

An agent that cannot be loaded does not stop the server: GET /health says why, and POST /reload tries again.
SIGTERM and Ctrl+C let running streams end first, for SERVICE_DRAIN_TIMEOUT_SECONDS at most.`;

function portOption(fallback: string): Option {
  return new Option('-p, --port <port>', `port to listen on, 0 for a free one (${fallback})`).argParser((text) => {
    if (/^\d{1,5}$/.test(text) && Number(text) <= 65535) return text;
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  });
}
