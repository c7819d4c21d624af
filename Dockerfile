# The server with its starter agent, on Node 24, which runs an agent about twice as fast as Node 20.
#
#   docker build -t agent-engine .
#   docker run --rm -p 127.0.0.1:8000:8000 -e SERVICE_ALLOW_OPEN_ADMIN=true agent-engine
#
# With an agent of your own, in a folder with a config.yaml (or name the file: ... agent-engine serve agent.ts):
#
#   docker run --rm -p 127.0.0.1:8000:8000 -e SERVICE_ALLOW_OPEN_ADMIN=true \
#     -v "$PWD":/project -v agent-data:/project/data -w /project agent-engine serve
#
# A real model needs its provider's package: docker build --build-arg PROVIDERS=@langchain/openai@1.5.8 .

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: on Node 24 the SQLite driver in use ships ready-made binaries, so nothing is compiled.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY src src
# What the agent's author edits is loaded from its source; the compiled copies are only a by-product of the build.
RUN npm run build && rm -rf dist/.tsbuildinfo dist/starter dist/cli/template && find dist -name '*.d.ts' -delete

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
ARG PROVIDERS=""
# Saved as a dependency, since a provider that the lockfile knows for development only would be left out otherwise.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && if [ -n "$PROVIDERS" ]; then \
    npm install --save-prod --save-exact --omit=dev --ignore-scripts --no-audit --no-fund $PROVIDERS; \
  fi
# better-sqlite3 12 is there for its JavaScript, which two packages import; its driver and both packages' C sources
# are for compiling. Of version 13's binaries the image needs its own platform's. Nothing reads type declarations.
RUN rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/better-sqlite3/build \
    node_modules/better-sqlite3-13/deps node_modules/better-sqlite3-13/src \
  && find node_modules/better-sqlite3-13/prebuilds -name '*.node' \
    ! -name "linux-$(node -p process.arch).node" -delete \
  && find node_modules \( -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' -o -name '*.map' \) -delete

FROM node:24-slim
# Inside a container loopback reaches nobody, and the port is fixed so that HEALTHCHECK and EXPOSE can name it: publish
# it under another one with -p. Listening on all addresses, the server refuses to start in mode none until
# SERVICE_ALLOW_OPEN_ADMIN=true says that something else keeps strangers out. That is not set here on purpose: whoever
# publishes the port decides it (compose.yaml does, and publishes to this machine only).
ENV NODE_ENV=production \
    SERVICE_HOST=0.0.0.0 \
    SERVICE_PORT=8000
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json .env.example ./
COPY drizzle drizzle
COPY src/starter src/starter
COPY src/cli/template src/cli/template
COPY src/http/assets src/http/assets
# The code stays root's; the server can write to its data and to nothing else. A named volume takes over the owner.
RUN ln -s /app/dist/main.js /usr/local/bin/agent-engine && chmod +x dist/main.js \
  && mkdir -p /app/data /project/data && chown -R node:node /app/data /project
USER node
VOLUME /app/data
EXPOSE 8000
# The container is well while the server answers, also without an agent: restarting would not mend a configuration.
# For readiness ask /health?strict=1, which is 503 until an agent is ready.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SERVICE_PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# SIGTERM lets running streams end; give it longer than SERVICE_DRAIN_TIMEOUT_SECONDS (docker stop -t 40).
STOPSIGNAL SIGTERM
ENTRYPOINT ["agent-engine"]
CMD ["serve", "--config", "src/starter/config.yaml"]
