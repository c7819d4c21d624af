/** Text of the last message of a run's body. */
export function lastText(body) {
  return body.messages.at(-1).content;
}

/**
 * Listens on a free port and obeys the program that forked this one: it is told the port, asks for the CPU time used
 * so far, and ends the server by letting go of it.
 *
 * @param app a Fastify server.
 */
export async function serveUnderControl(app) {
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send({ cpuMs: (user + system) / 1000 });
  });
  // Through exit, so that --cpu-prof gets to write its file.
  process.on('disconnect', () => process.exit(0));
  process.send({ port: app.server.address().port });
}
