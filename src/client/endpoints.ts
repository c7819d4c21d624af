const RUN_PATH = 'agent/run';

/** Addresses of a server's routes. */
export interface Endpoints {
  /** The stream of a run. */
  runEvents(threadId: string, runId: string): string;
  /** The stream that shows a thread as it is and follows what it does. */
  threadEvents(threadId: string): string;
  /** Where a run is cancelled. */
  cancel(threadId: string, runId: string): string;
}

/**
 * Derives the addresses from that of `/agent/run`, whose query string all of them keep.
 *
 * @param baseUrl what comes before `/agent/…`, where `url` does not tell.
 * @throws TypeError when `url` does not end in `/agent/run` and there is no `baseUrl`.
 */
export function endpoints(url: string, baseUrl?: string): Endpoints {
  const { path, query } = split(baseUrl ?? url);
  const base = baseUrl === undefined ? beforeRun(path, url) : `${path}/`;
  const address = (route: string, ...parameters: string[]): string => {
    const search = [query, ...parameters].filter((part) => part !== '').join('&');
    return `${base}agent/${route}${search === '' ? '' : `?${search}`}`;
  };
  const run = (threadId: string, runId: string, what: string): string =>
    address(`runs/${encodeURIComponent(runId)}/${what}`, `threadId=${encodeURIComponent(threadId)}`);
  return {
    runEvents: (threadId, runId) => run(threadId, runId, 'events'),
    threadEvents: (threadId) => address(`threads/${encodeURIComponent(threadId)}/events`),
    cancel: (threadId, runId) => run(threadId, runId, 'cancel'),
  };
}

/** Taken apart by hand, since a browser's address may be relative to the page. */
function split(url: string): { path: string; query: string } {
  const [address = ''] = url.split('#', 1);
  const [path = ''] = address.split('?', 1);
  return { path: path.replace(/\/+$/, ''), query: address.slice(path.length + 1) };
}

function beforeRun(path: string, url: string): string {
  const base = path.slice(0, -RUN_PATH.length);
  if (path.endsWith(RUN_PATH) && (base === '' || base.endsWith('/'))) return base;
  throw new TypeError(`The url "${url}" does not end in /agent/run. Set baseUrl to what comes before /agent/… there.`);
}
